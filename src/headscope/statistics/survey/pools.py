"""Pools of workers: processes of this machine, or actors of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from headscope.errors import HeadscopeError

TRIES = 5  # of a piece of work whose process dies


class Processes:
    """A process for each worker; one that dies is started again and its work repeated."""

    def __init__(self, make: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> None:
        self.count = len(given)
        self._start = [(make, *one) for one in given]
        self._executors = [self._started(place) for place in range(self.count)]
        # handing over what a process begins with waits until it has imported what it needs: a
        # thread waits for each, so that they start side by side
        self._threads = ThreadPoolExecutor(self.count, "headscope-start")
        self.starting = [self._threads.submit(_wait_for, one) for one in self._executors]
        self._tasks: dict[Future[Any], tuple[int, str, tuple[Any, ...], int]] = {}

    def _started(self, place: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, _context(), _begin, self._start[place])

    def submit(self, worker: int, method: str, *arguments: Any) -> Any:
        return self._submit(worker, method, arguments, 0)

    def _submit(self, worker: int, method: str, arguments: tuple[Any, ...], tried: int) -> Any:
        try:
            task = self._executors[worker].submit(_call, method, *arguments)
        except BrokenProcessPool:
            self._executors[worker] = self._started(worker)
            task = self._executors[worker].submit(_call, method, *arguments)
        self._tasks[task] = (worker, method, arguments, tried)
        return task

    def wait(self, tasks: list[Any], block: bool = True) -> list[Any]:
        done, _ = wait(tasks, None if block else 0, return_when=FIRST_COMPLETED)
        return [task for task in tasks if task in done]

    def result(self, task: Any) -> Any:
        worker, method, arguments, tried = self._tasks.pop(task)
        try:
            return task.result()
        except BrokenProcessPool as error:
            if tried >= TRIES:
                raise HeadscopeError(
                    "A process of the survey was ended again and again (memory may be short); what "
                    "was measured is kept, run the same survey again to go on."
                ) from error
            again = self._submit(worker, method, arguments, tried + 1)
            return self.result(again)

    def close(self) -> None:
        for executor in self._executors:  # one that is still starting is waited for there, not here
            self._threads.submit(executor.shutdown, wait=False, cancel_futures=True)
        self._threads.shutdown(wait=False)


_here: list[Any] = []  # the worker of this process


def _begin(make: Callable[..., Any], *given: Any) -> None:
    _here[:] = [make(*given)]


def _context() -> Any:
    """How processes start: from one that has imported what all of them need, and runs no thread.

    Never forked from this one: a fork inherits the locks of torch's threads, and may wait for them
    for ever.
    """
    import multiprocessing

    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["headscope.statistics.survey.workers"])
    return context


def _wait_for(executor: ProcessPoolExecutor) -> None:
    executor.submit(_nothing).result()


def _nothing() -> None:
    pass


def _call(method: str, *arguments: Any) -> Any:
    return getattr(_here[0], method)(*arguments)


class Ray:
    """An actor for each worker, which Ray starts again when it dies."""

    def __init__(self, make: type, on_gpu: bool, address: str | None, workers: int | None) -> None:
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
        self._ray: Any = ray
        free = ray.cluster_resources()
        cores = int(free.get("CPU", 1)) or 1
        self.count = workers or int(free.get("GPU", 0) if on_gpu else cores) or 1
        self._actor = ray.remote(make).options(
            # more workers than cores are allowed
            num_cpus=min(1.0, cores / self.count), num_gpus=1 if on_gpu else 0,
            max_restarts=-1, max_task_retries=-1,
        )  # fmt: skip
        self._workers: list[Any] = []

    def start(self, heavy: Any, *given: Any) -> None:
        """All workers; what is heavy is put into the object store once."""
        # held as long as the run: a worker that is started again asks for it once more
        self._heavy = self._ray.put(heavy)
        self._workers = [self._actor.remote(self._heavy, *given) for _ in range(self.count)]

    def submit(self, worker: int, method: str, *arguments: Any) -> Any:
        return getattr(self._workers[worker], method).remote(*arguments)

    def wait(self, tasks: list[Any], block: bool = True) -> list[Any]:
        done, waiting = self._ray.wait(tasks, num_returns=1, timeout=None if block else 0)
        if done and waiting:  # whatever else is there by now
            done += self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0]
        return done

    def result(self, task: Any) -> Any:
        try:
            return self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, HeadscopeError):
                raise cause from error
            raise
        except self._ray.exceptions.RayError as error:
            raise HeadscopeError(
                f"A Ray worker failed for good ({type(error).__name__}); what was measured is "
                "kept, run the same survey again to go on."
            ) from error

    def close(self) -> None:
        for worker in self._workers:
            self._ray.kill(worker)
