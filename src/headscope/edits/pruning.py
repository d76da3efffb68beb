"""Pruning curves: how a score falls as more and more heads are disabled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from headscope.capture import Kind
from headscope.edits.answers import OneLayer, Track, answer, answer_each, untracked
from headscope.edits.disable import chosen_kind
from headscope.edits.importance import importance
from headscope.edits.modes import mode as find_mode
from headscope.errors import BadInput
from headscope.tasks.questions import Exam

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

Order = Literal["importance", "greedy", "random"]


@dataclass(frozen=True)
class Pruning:
    """The score after each step, and the heads disabled by then (in the order they went)."""

    order: Order
    metric: str
    disabled: tuple[tuple[tuple[int, int], ...], ...]
    scores: tuple[float, ...]

    @property
    def table(self) -> pd.DataFrame:
        import pandas as pd

        total = len(self.disabled[-1]) if self.disabled else 0
        return pd.DataFrame(
            {
                "order": self.order,
                "disabled": [len(heads) for heads in self.disabled],
                "share": [len(heads) / max(1, total) for heads in self.disabled],
                self.metric: self.scores,
            }
        )


def prune(
    scope: Scope,
    exam: Exam,
    *,
    order: Order = "importance",
    step: float = 0.1,
    until: float = 1.0,
    mode: str = "zero",
    kind: Kind | None = None,
    choose_on: Exam | None = None,
    seed: int = 0,
    track: Track = untracked,
) -> Pruning:
    """Disable heads in steps of a tenth, the least needed first, and score after each step.

    "importance" orders heads once by their gradient gates, "greedy" looks again before every
    step and takes the heads whose loss costs the score least, "random" is the yardstick.
    `choose_on` is the exam heads are chosen on; choosing on the one that is reported flatters.
    """
    kind = chosen_kind(scope, kind)
    if order not in get_args(Order):
        raise BadInput(f"There is no order {order!r}; choose one of {', '.join(get_args(Order))}.")
    find_mode(mode)
    every = [
        (layer, head) for layer in scope.layer_numbers[kind] for head in range(scope.heads[kind])
    ]
    stops = _stops(len(every), step, until)
    chosen: list[tuple[int, int]] = []
    queue: list[tuple[int, int]] = []
    if order == "importance":
        queue = importance(scope, choose_on or exam, kind=kind).ranked()
    elif order == "random":
        queue = [every[i] for i in np.random.default_rng(seed).permutation(len(every))]
    disabled: list[tuple[tuple[int, int], ...]] = []
    scores: list[float] = []
    for stop in track(stops, f"disabling more and more heads on {exam.name}"):
        while len(chosen) < stop:
            if order == "greedy":
                now = scope.without(heads=chosen, mode=mode, kind=kind) if chosen else scope
                left = [head for head in every if head not in chosen]
                chosen += _cheapest(now, choose_on or exam, left, mode, kind, stop - len(chosen))
            else:
                chosen.append(queue[len(chosen)])
        edited = scope.without(heads=chosen, mode=mode, kind=kind) if chosen else scope
        disabled.append(tuple(chosen))
        scores.append(exam.metric(answer(edited, exam), exam.labels))
    return Pruning(order, exam.metric.name, tuple(disabled), tuple(scores))


def _cheapest(
    scope: Scope, exam: Exam, left: Sequence[tuple[int, int]], mode: str, kind: Kind, count: int
) -> list[tuple[int, int]]:
    """The heads whose going costs least now, each judged alone."""
    edits = [OneLayer(layer, (head,)) for layer, head in left]
    swept = answer_each(scope, exam, edits, mode=mode, kind=kind)
    sign = 1.0 if exam.metric.higher_is_better else -1.0
    scores = np.array([sign * exam.metric(answers, exam.labels) for answers in swept.edited])
    return [left[i] for i in np.argsort(-scores, kind="stable")[:count]]


def _stops(total: int, step: float, until: float) -> list[int]:
    if not 0 < step <= 1 or not 0 < until <= 1:
        raise BadInput(f"A step and an end are shares of 0 to 1, not {step} and {until}.")
    shares = np.arange(0, until + step / 2, step)
    return sorted({min(total, round(share * total)) for share in shares})
