"""Where a survey runs: here, in several processes, or on the workers of a Ray cluster."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Protocol

from headscope.errors import BadInput
from headscope.reading import Scope
from headscope.runs.work_ahead import ahead
from headscope.statistics.survey.cutting import Cutter, Done, Portion
from headscope.statistics.survey.pools import Processes, Ray
from headscope.statistics.survey.portion import (
    Settings,
    measure_batches,
    measure_chunk,
    measured_late,
    text_batches,
)
from headscope.statistics.survey.workers import Spread, Worker


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
        if self._settings.of("gradient"):
            for portion, texts in ahead(prepared):
                yield Done.of(portion, measure_batches(self._scope, texts, self._settings))
            return
        for portion, tally in measured_late(self._scope, ahead(prepared), self._settings):
            yield Done.of(portion, tally)


def on_processes(scope: Scope, settings: Settings, cutter: Cutter, workers: int) -> Spread:
    """Several processes of this machine, each with a GPU of its own where there are several."""
    import torch

    gpus = torch.cuda.device_count() if scope.device.type == "cuda" else 0
    devices = [f"cuda:{place % gpus}" if gpus else "cpu" for place in range(workers)]
    cores = max(1, torch.get_num_threads() // workers)
    given = _shipped(scope)
    return Spread(Processes(Worker, [(given, settings, cutter, one, cores) for one in devices]))


def on_ray(
    scope: Scope,
    settings: Settings,
    cutter: Cutter,
    address: str | None = None,
    workers: int | None = None,
) -> Spread:
    """One model per worker, each with a core or a GPU of its own."""
    on_gpu = scope.device.type == "cuda"
    pool = Ray(Worker, on_gpu, address, workers)
    # Ray shows each worker its own GPU alone
    pool.start(_shipped(scope), settings, cutter, "cuda:0" if on_gpu else "cpu", 1)
    return Spread(pool)


def _shipped(scope: Scope) -> Scope:
    """The scope as it can be sent: its model in main memory."""
    if len(set(getattr(scope.model, "hf_device_map", {}).values())) > 1:
        raise BadInput(
            f"{scope.name} is spread over several places, so one process runs it; leave workers= "
            "(--workers) and engine= out."
        )
    if scope.device.type == "cpu":
        return scope
    return Scope(copy.deepcopy(scope.model).to("cpu"), scope.tokenizer, scope.name, scope.edits)
