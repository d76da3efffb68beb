"""Where a survey runs: here, in several processes, or on the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from headscope.errors import HeadscopeError
from headscope.reading import Scope
from headscope.runs.work_ahead import ahead
from headscope.statistics.survey.cutting import Cutter, Done, Portion
from headscope.statistics.survey.portion import (
    Settings,
    measure_batches,
    measure_chunk,
    text_batches,
)
from headscope.statistics.survey.workers import Spread, Worker

TRIES = 5  # of a piece of work whose process dies


class Engine(Protocol):
    def run(self, portions: Iterator[Portion]) -> Iterator[Done]:
        """Measure every portion; yield in the order of the corpus, so that sums are the same."""
        ...


class Local:
    """This process. A GPU is faster than text is prepared for it, so a thread prepares ahead."""

    def __init__(self, scope: Scope, settings: Settings, is_ahead: bool | None = None) -> None:
        self._scope = scope
        self._settings = settings
        self._is_ahead = scope.device.type == "cuda" if is_ahead is None else is_ahead

    def run(self, portions: Iterator[Portion]) -> Iterator[Done]:
        if not self._is_ahead:
            for portion in portions:
                yield Done.of(portion, measure_chunk(self._scope, portion, self._settings))
            return
        prepared = ((p, list(text_batches(self._scope, p, self._settings))) for p in portions)
        for portion, texts in ahead(prepared):
            yield Done.of(portion, measure_batches(self._scope, texts, self._settings))


def on_processes(scope: Scope, settings: Settings, cutter: Cutter, workers: int) -> Spread:
    """Several processes of this machine, each with a GPU of its own where there are several."""
    return Spread(_Processes(scope, settings, cutter, workers))


def on_ray(
    scope: Scope,
    settings: Settings,
    cutter: Cutter,
    address: str | None = None,
    workers: int | None = None,
) -> Spread:
    """One model per worker; a worker that dies is started again and its work repeated."""
    return Spread(_Ray(scope, settings, cutter, address, workers))


class _Processes:
    def __init__(self, scope: Scope, settings: Settings, cutter: Cutter, workers: int) -> None:
        import torch

        self.count = workers
        gpus = torch.cuda.device_count() if scope.device.type == "cuda" else 0
        devices = [f"cuda:{place % gpus}" if gpus else "cpu" for place in range(workers)]
        cores = max(1, torch.get_num_threads() // workers)
        given = _shipped(scope)
        self._start = [(given, settings, cutter, device, cores) for device in devices]
        self._executors = [self._started(place) for place in range(workers)]
        self._tasks: dict[Future[Any], tuple[int, str, tuple[Any, ...], int]] = {}

    def _started(self, place: int) -> ProcessPoolExecutor:
        import multiprocessing

        # not forked: a fork inherits the locks of torch's threads, and may wait for them for ever
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(1, context, _begin, self._start[place])

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

    def wait(self, tasks: list[Any]) -> Any:
        done, _ = wait(tasks, return_when=FIRST_COMPLETED)
        return next(iter(done))

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
        for executor in self._executors:
            executor.shutdown(wait=False, cancel_futures=True)


_here: list[Worker] = []  # the worker of this process


def _begin(*given: Any) -> None:
    _here[:] = [Worker(*given)]


def _call(method: str, *arguments: Any) -> Any:
    return getattr(_here[0], method)(*arguments)


class _Ray:
    def __init__(
        self,
        scope: Scope,
        settings: Settings,
        cutter: Cutter,
        address: str | None,
        workers: int | None,
        cores: int = 1,
    ) -> None:
        try:
            import ray
        except ImportError as error:
            raise HeadscopeError(
                "engine='ray' needs Ray; install it with pip install 'headscope[ray]'."
            ) from error
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, include_dashboard=False)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise HeadscopeError(
                    f"No Ray cluster answers at {address}; start one with `ray start --head`, or "
                    "leave the address out to run on this machine."
                ) from error
        on_gpu = scope.device.type == "cuda"
        free = ray.cluster_resources()
        self.count = (
            workers or int(free.get("GPU", 0) if on_gpu else free.get("CPU", 1) // cores) or 1
        )
        # held as long as the run: a worker that is started again asks for the model once more
        self._model = ray.put(_shipped(scope))
        share = min(cores, free.get("CPU", 1) / self.count)  # more workers than cores is allowed
        worker = ray.remote(Worker).options(
            num_cpus=share, num_gpus=1 if on_gpu else 0, max_restarts=-1, max_task_retries=-1
        )
        self._ray: Any = ray
        # Ray shows each worker its own GPU alone
        device = "cuda:0" if on_gpu else "cpu"
        self._workers: list[Any] = [
            worker.remote(self._model, settings, cutter, device, cores) for _ in range(self.count)
        ]

    def submit(self, worker: int, method: str, *arguments: Any) -> Any:
        return getattr(self._workers[worker], method).remote(*arguments)

    def wait(self, tasks: list[Any]) -> Any:
        done, _ = self._ray.wait(tasks, num_returns=1)
        return done[0]

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


def _shipped(scope: Scope) -> Scope:
    """The scope as it can be sent: its model in main memory."""
    if scope.device.type == "cpu":
        return scope
    import copy

    return Scope(copy.deepcopy(scope.model).to("cpu"), scope.tokenizer, scope.name, scope.edits)
