"""What a survey from text does before its first sums, and what its main process waits for.

Used by `text_gpu.py`: the functions named here are timed while a survey runs. A part may lie within
another (trying the model within the first batches), and processes beside the GPU work meanwhile.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

from headscope.statistics.survey import run
from headscope.statistics.survey.feeding import fed
from headscope.statistics.survey.feeding.helpers import Helpers
from headscope.statistics.survey.one_pass import Pass
from headscope.statistics.survey.portion import Late

# where it is called from, its name there, and what it is called here
PARTS: tuple[tuple[Any, str, str], ...] = (
    (run, "check_weights", "weights looked at"),
    (run, "measurable", "model described"),
    (run, "Source", "corpus divided"),
    (run, "_fed", "processes started"),
    (run, "_identity", "model and tokenizer told from others"),
    (fed, "rebuildable", "model tried"),
    (fed.Fed, "_begin", "model tried, kernels compiled"),
    (Helpers, "wait", "text waited for"),
    (Helpers, "result", "text taken"),
    (fed, "read_batches", "batches given to the device"),
    (Late, "add_up", "sums waited for and added up"),
    (Pass, "_take", "portions added up"),
    (Pass, "_tell", "progress told"),
)


class Timeline:
    """When each part ran, in seconds from the beginning."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self.spans: dict[str, list[tuple[float, float]]] = {}

    def timed(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(work)
        def timed(*given: Any, **named: Any) -> Any:
            start = time.perf_counter() - self._start
            try:
                return work(*given, **named)
            finally:
                self.spans.setdefault(name, []).append((start, time.perf_counter() - self._start))

        return timed

    def first(self) -> dict[str, str]:
        """From when to when each part ran first."""
        firsts = {name: spans[0] for name, spans in self.spans.items()}
        return {n: f"{a:.2f} to {b:.2f} s" for n, (a, b) in sorted(firsts.items(), key=_when)}

    def whole(self) -> dict[str, str]:
        """How long each part took in all, and how often it ran."""
        return {
            name: f"{sum(b - a for a, b in spans):.2f} s in {len(spans)}"
            for name, spans in self.spans.items()
        }


def _when(one: tuple[str, tuple[float, float]]) -> tuple[float, float]:
    return one[1]


@contextlib.contextmanager
def timeline() -> Iterator[Timeline]:
    """Time the parts of the survey that runs within."""
    found = Timeline()
    before = [(home, name, getattr(home, name)) for home, name, _ in PARTS]
    for home, name, label in PARTS:
        setattr(home, name, found.timed(label, getattr(home, name)))
    try:
        yield found
    finally:
        for home, name, work in before:
            setattr(home, name, work)
