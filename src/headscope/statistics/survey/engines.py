"""Where a survey runs: here, or on the workers of a Ray cluster. Tallies come back in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from headscope.corpus.text.segments import Segment
from headscope.errors import HeadscopeError
from headscope.reading import Scope
from headscope.runs.work_ahead import ahead
from headscope.statistics.survey.portion import (
    Settings,
    measure_batches,
    measure_chunk,
    text_batches,
)
from headscope.statistics.survey.tally import Tally

if TYPE_CHECKING:
    import torch

Portion = list[Segment]
AHEAD = 2  # portions given to each worker, so that none waits for the next


class Engine(Protocol):
    def run(self, portions: Iterator[Portion]) -> Iterator[tuple[Portion, Tally]]:
        """Measure every portion; yield in the order of the corpus, so that sums are the same."""
        ...


class Local:
    """This process. A GPU is faster than text is prepared for it, so a thread prepares ahead."""

    def __init__(self, scope: Scope, settings: Settings, is_ahead: bool | None = None) -> None:
        self._scope = scope
        self._settings = settings
        self._is_ahead = scope.device.type == "cuda" if is_ahead is None else is_ahead

    def run(self, portions: Iterator[Portion]) -> Iterator[tuple[Portion, Tally]]:
        if not self._is_ahead:
            for portion in portions:
                yield portion, measure_chunk(self._scope, portion, self._settings)
            return
        prepared = ((p, list(text_batches(self._scope, p, self._settings))) for p in portions)
        for portion, texts in ahead(prepared):
            yield portion, measure_batches(self._scope, texts, self._settings)


class Ray:
    """One model per worker; a worker that dies is started again and its portion repeated."""

    def __init__(
        self,
        scope: Scope,
        settings: Settings,
        address: str | None = None,
        workers: int | None = None,
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
        count = workers or int(free.get("GPU", 0) if on_gpu else free.get("CPU", 1) // cores) or 1
        # held as long as the run: a worker that is started again asks for the model once more
        self._model = ray.put(_shipped(scope))
        worker = ray.remote(_Worker).options(
            num_cpus=cores, num_gpus=1 if on_gpu else 0, max_restarts=-1, max_task_retries=-1
        )
        self._ray: Any = ray
        self._workers: list[Any] = [
            worker.remote(self._model, settings, scope.device.type, cores) for _ in range(count)
        ]

    def run(self, portions: Iterator[Portion]) -> Iterator[tuple[Portion, Tally]]:
        given: dict[Any, tuple[int, Portion, int]] = {}  # task: place, portion, worker
        ready: dict[int, tuple[Portion, Tally]] = {}
        load = [0] * len(self._workers)
        supply = enumerate(portions)
        expected, more = 0, True
        try:
            while more or given or ready:
                # what waits for an earlier portion counts too: memory stays flat
                while more and len(given) + len(ready) < AHEAD * len(load):
                    following = next(supply, None)
                    if following is None:
                        more = False
                        break
                    worker = load.index(min(load))
                    task = self._workers[worker].measure.remote(following[1])
                    given[task] = (*following, worker)
                    load[worker] += 1
                if given:
                    done, _ = self._ray.wait(list(given), num_returns=1)
                    place, portion, worker = given.pop(done[0])
                    load[worker] -= 1
                    ready[place] = (portion, self._result(done[0]))
                while expected in ready:
                    yield ready.pop(expected)
                    expected += 1
        finally:
            for worker in self._workers:
                self._ray.kill(worker)

    def _result(self, task: Any) -> Tally:
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


class _Worker:
    """A process of the cluster with the model in its memory."""

    def __init__(self, scope: Scope, settings: Settings, device: str, cores: int) -> None:
        import torch

        torch.set_num_threads(cores)
        self._scope = scope
        if device == "cuda":
            scope.model.to(_device(torch))
        self._settings = settings

    def measure(self, portion: Portion) -> Tally:
        return measure_chunk(self._scope, portion, self._settings)


def _device(torch_module: Any) -> torch.device:
    return torch_module.device("cuda", 0)  # Ray shows each worker its own GPU alone


def _shipped(scope: Scope) -> Scope:
    """The scope as it can be sent: its model in main memory."""
    if scope.device.type == "cpu":
        return scope
    import copy

    return Scope(copy.deepcopy(scope.model).to("cpu"), scope.tokenizer, scope.name, scope.edits)
