"""Pools of workers: processes of this machine (joblib's loky), or actors of a Ray cluster.

A worker is an object in its own process. Its methods return an item, and the arguments of the next
call in the same worker, or None.
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

TRIES = 5  # for a task whose process dies
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True)
class Task:
    """A method's name and its arguments."""

    method: str
    given: tuple[Any, ...]
    tried: int = 0


class Pool(Protocol):
    """A set of workers that are called one by one."""

    @property
    def count(self) -> int: ...
    def submit(self, worker: int, task: Task) -> Future[Any]: ...
    def result(self, worker: int, done: Future[Any]) -> Any:
        """The worker's result; raises its error, or `BrokenProcessPool` if it died."""
        ...

    def close(self) -> None: ...


def spread(pool: Pool, tasks: Iterator[Task], ahead: int = 1) -> Iterator[Any]:
    """Give tasks to free workers, `ahead` of them each; yields items as they finish."""
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
                item, following = pool.result(worker, future)
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
    """A process for each worker; a dead one is replaced on the next call."""

    def __init__(self, make: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> None:
        self.count = len(given)
        self._given = [(os.getpid(), make, *one) for one in given]
        self._executors: dict[int, Any] = {}
        self._started: dict[int, Future[Any]] = {}
        try:
            for worker in range(self.count):  # side by side, before they are needed
                self._start(worker)
        except BaseException:
            self.close()
            raise

    def _start(self, worker: int) -> None:
        from joblib.externals.loky import ProcessPoolExecutor  # pyright: ignore

        # it starts new processes without running the caller's script again
        executor = self._executors[worker] = ProcessPoolExecutor(1, env=ALONE)
        # not as its initializer: the parent would wait until the process has read what it is given,
        # so that twelve of them started one after another
        self._started[worker] = executor.submit(_begin, *self._given[worker])

    def submit(self, worker: int, task: Task) -> Future[Any]:
        try:
            return self._executors[worker].submit(_call, task.method, *task.given)
        except BrokenProcessPool:
            self._start(worker)
            return self._executors[worker].submit(_call, task.method, *task.given)

    def result(self, worker: int, done: Future[Any]) -> Any:
        self._started[worker].result()  # what kept it from starting, not what follows from that
        return done.result()

    def close(self) -> None:
        for executor in self._executors.values():
            executor.shutdown(wait=False, kill_workers=True)


_here: list[Any] = []  # the worker of this process


def _begin(parent: int, make: Callable[..., Any], *given: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _here[:] = [make(*given)]


def _end_with(parent: int) -> None:
    """End the worker if its parent was killed, which shows as another parent process."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


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
        # kept during the run, because a restarted worker needs it again
        self._heavy = self._ray.put(heavy)
        self._workers = [actor.remote(self._heavy, *given) for _ in range(self.count)]

    def submit(self, worker: int, task: Task) -> Future[Any]:
        return getattr(self._workers[worker], task.method).remote(*task.given).future()

    def result(self, worker: int, done: Future[Any]) -> Any:
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
        except Exception as error:  # Ray raises a bare Exception if a busy machine is slow
            raise HeadscopeError(
                f"Ray did not start on this machine ({str(error).partition('. ')[0]}); try "
                "again when it is less busy, or use engine='local' with workers=."
                if address is None
                else f"No Ray cluster answers at {address}; start one with `ray start --head`, "
                "or leave the address out to run on this machine."
            ) from error
    return ray
