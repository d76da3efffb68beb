"""Processes that prepare text: each is asked through a pipe, and no thread stands between.

A thread of this process that unpickles answers takes the interpreter from the one that drives the
GPU, in the middle of a batch and for milliseconds. And a process made by `multiprocessing` imports
the caller's script again, with all that it imports.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from socket import socketpair
from typing import Any

from headscope.errors import HeadscopeError
from headscope.statistics.survey.feeding.desk import Desk, Feeder

TRIES = 5  # of a piece of work whose process dies
# no thread but one: every core has a process of its own
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


@dataclass(eq=False)
class Task:
    worker: int
    asked: bytes
    tried: int = 0


class Helpers:
    """So many processes with a desk each; one that dies is started again and its work repeated."""

    def __init__(self, desk: Desk, count: int) -> None:
        self.count = count
        # a file, because a pipe takes more only when its reader has imported what it needs
        self._desk = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the processes
        pickle.dump(desk, self._desk, 5)
        self._desk.flush()
        self._made = [self._started() for _ in range(count)]
        self._fresh = set(range(count))  # those that were asked for nothing yet
        self._senders: dict[int, threading.Thread] = {}

    def _started(self) -> tuple[subprocess.Popen[bytes], Connection]:
        here, there = socketpair()
        start = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from {__name__} import serve; serve({there.fileno()}, {self._desk.fileno()})"
        )
        with there:
            process = subprocess.Popen(
                [sys.executable, "-c", start],
                pass_fds=[there.fileno(), self._desk.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **ALONE},
                start_new_session=True,  # Ctrl-C is for this process
            )
        return process, Connection(here.detach())

    def submit(self, worker: int, method: str, *arguments: Any) -> Task:
        task = Task(worker, pickle.dumps((method, arguments), 5))
        if worker in self._fresh:
            # a pipe takes much only when its reader has started: that is waited for elsewhere
            self._fresh.remove(worker)
            given = (self._made[worker][1], task.asked)
            self._senders[worker] = threading.Thread(target=_send, args=given, daemon=True)
            self._senders[worker].start()
        else:
            self._ask(task)
        return task

    def _ask(self, task: Task) -> None:
        try:
            self._made[task.worker][1].send_bytes(task.asked)
        except OSError:
            self._again(task)

    def _again(self, task: Task) -> None:
        task.tried += 1
        if task.tried > TRIES:
            raise HeadscopeError(
                "A process of the survey was ended again and again (memory may be short); what "
                "was measured is kept, run the same survey again to go on."
            )
        self._end(task.worker)
        self._made[task.worker] = self._started()
        self._ask(task)

    def wait(self, tasks: list[Task], block: bool = True) -> list[Task]:
        lines = {self._made[task.worker][1]: task for task in tasks}
        return [lines[line] for line in wait(list(lines), None if block else 0)]  # pyright: ignore

    def result(self, task: Task) -> Any:
        while True:
            try:
                answer = pickle.loads(self._made[task.worker][1].recv_bytes())
                break
            except (EOFError, OSError):
                self._again(task)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def close(self) -> None:
        for worker in range(len(self._made)):
            self._end(worker)
        self._made = []
        self._desk.close()

    def _end(self, worker: int) -> None:
        process, line = self._made[worker]
        process.kill()
        process.wait()
        if worker in self._senders:  # it hears of the end, should it still be writing
            self._senders.pop(worker).join(timeout=1)
        line.close()


def _send(line: Connection, asked: bytes) -> None:
    with contextlib.suppress(OSError):  # who waits for the answer finds out, and asks again
        line.send_bytes(asked)


def serve(handle: int, desk: int) -> None:
    """In a process of its own: answer until nobody asks any more."""
    line = Connection(handle)
    try:
        with mmap.mmap(desk, 0, access=mmap.ACCESS_READ) as held:
            feeder = Feeder(pickle.loads(held))
        while True:
            method, arguments = pickle.loads(line.recv_bytes())
            try:
                answer: Any = getattr(feeder, method)(*arguments)
            except Exception as error:
                answer = error
            line.send_bytes(pickle.dumps(answer, 5))
    except (EOFError, OSError):  # the survey has ended, or its process was killed
        return
