"""Pools of workers: processes of this machine (joblib's loky), or actors of a Ray cluster.

A worker is an object in a process of its own. Its methods return an item, and the arguments of the
call that comes after it in the same worker, or None.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Protocol

from headscope.errors import HeadscopeError

TRIES = 5  # of a task whose process dies
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True)
class Task:
    """A method's name and its arguments."""

    method: str
    given: tuple[Any, ...]
    tried: int = 0


class Pool(Protocol):
    """Workers that are asked one by one."""

    @property
    def count(self) -> int: ...
    def submit(self, worker: int, task: Task) -> Future[Any]: ...
    def result(self, done: Future[Any]) -> Any:
        """What the worker answered; its own error, or `BrokenProcessPool` where it died."""
        ...

    def close(self) -> None: ...


def spread(pool: Pool, tasks: Iterator[Task], ahead: int = 1) -> Iterator[Any]:
    """Give tasks to workers as they come free, so many `ahead` to each; items as they are done."""
    idle = list(range(pool.count)) * ahead
    busy: dict[Future[Any], tuple[int, Task]] = {}

    def give(worker: int, task: Task) -> None:
        busy[pool.submit(worker, task)] = (worker, task)

    while True:
        while idle and (task := next(tasks, None)) is not None:
            give(idle.pop(), task)
        if not busy:
            return
        done, _ = wait(busy, return_when=FIRST_COMPLETED)
        for future in done:
            worker, task = busy.pop(future)
            try:
                item, following = pool.result(future)
            except BrokenProcessPool as error:
                if task.tried == TRIES:
                    raise HeadscopeError(
                        f"A process of the survey died {TRIES + 1} times (memory may be short); "
                        "the results so far are saved: run the same survey again to resume."
                    ) from error
                give(worker, dataclasses.replace(task, tried=task.tried + 1))
                continue
            if following is None:
                idle.append(worker)
            else:
                give(worker, Task(task.method, following))
            yield item


class Processes:
    """A process for each worker; one that dies is replaced when it is asked again."""

    def __init__(self, make: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> None:
        self.count = len(given)
        self._given = [(os.getpid(), make, *one) for one in given]
        self._executors = [self._started(worker) for worker in range(self.count)]
        try:
            for executor in self._executors:  # they start side by side, before they are needed
                executor.submit(_nothing)
        except BaseException:
            self.close()
            raise

    def _started(self, worker: int) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor  # pyright: ignore

        # it starts clean processes, which do not run the caller's script again
        return ProcessPoolExecutor(1, initializer=_begin, initargs=self._given[worker], env=ALONE)

    def submit(self, worker: int, task: Task) -> Future[Any]:
        try:
            return self._executors[worker].submit(_call, task.method, *task.given)
        except BrokenProcessPool:
            self._executors[worker] = self._started(worker)
            return self._executors[worker].submit(_call, task.method, *task.given)

    def result(self, done: Future[Any]) -> Any:
        return done.result()

    def close(self) -> None:
        for executor in self._executors:
            executor.shutdown(wait=False, kill_workers=True)


_here: list[Any] = []  # the worker of this process


def _begin(parent: int, make: Callable[..., Any], *given: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _here[:] = [make(*given)]


def _end_with(parent: int) -> None:
    """A parent that was killed closes nothing: its workers see that they have another one."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _nothing() -> None:
    pass


def _call(method: str, *given: Any) -> Any:
    return getattr(_here[0], method)(*given)


class Ray:
    """An actor for each worker, which Ray starts again when it dies."""

    def __init__(
        self,
        make: type,
        heavy: Any,
        *given: Any,
        on_gpu: bool,
        address: str | None,
        workers: int | None,
    ) -> None:
        """`heavy` is the first argument of `make`; it is put into the object store once."""
        self._ray: Any = _ray(address)
        free = self._ray.cluster_resources()
        cores = int(free.get("CPU", 1)) or 1
        self.count = workers or int(free.get("GPU", 0) if on_gpu else cores) or 1
        actor = self._ray.remote(make).options(
            # more workers than cores are allowed
            num_cpus=min(1.0, cores / self.count), num_gpus=1 if on_gpu else 0,
            max_restarts=-1, max_task_retries=-1,
        )  # fmt: skip
        # held as long as the run: a worker that is started again asks for it once more
        self._heavy = self._ray.put(heavy)
        self._workers = [actor.remote(self._heavy, *given) for _ in range(self.count)]

    def submit(self, worker: int, task: Task) -> Future[Any]:
        return getattr(self._workers[worker], task.method).remote(*task.given).future()

    def result(self, done: Future[Any]) -> Any:
        try:
            return done.result()
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, HeadscopeError):
                raise cause from error
            raise
        except self._ray.exceptions.RayError as error:
            raise HeadscopeError(
                f"A Ray worker kept failing ({type(error).__name__}); the results so far are "
                f"saved: run the same survey again to resume."
            ) from error

    def close(self) -> None:
        for worker in self._workers:
            self._ray.kill(worker)


def _ray(address: str | None) -> Any:
    """Ray, connected to a cluster."""
    try:
        import ray
    except ImportError as error:
        raise HeadscopeError(
            "engine='ray' needs Ray; install it with pip install 'headscope[ray]'."
        ) from error
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, include_dashboard=False)
        except Exception as error:  # Ray raises the plainest kind when a busy machine is slow
            raise HeadscopeError(
                f"Ray did not start on this machine ({str(error).partition('. ')[0]}); try "
                "again when it is less busy, or use engine='local' with workers=."
                if address is None
                else f"No Ray cluster answers at {address}; start one with `ray start --head`, "
                "or leave the address out to run on this machine."
            ) from error
    return ray
