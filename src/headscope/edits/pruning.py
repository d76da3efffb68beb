"""Pruning curves: how a score falls as more and more heads are disabled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from headscope.capture import Kind
from headscope.edits.answers import OneLayer, answer, answer_each, as_questions, questions_identity
from headscope.edits.disable import chosen_kind
from headscope.edits.importance import importance
from headscope.edits.modes import mode as find_mode
from headscope.errors import BadInput
from headscope.files import check_table, write_table
from headscope.models.loading_report import check_weights
from headscope.runs import ProgressCallback, Run, State, scope_identity
from headscope.tasks.questions import Questions
from headscope.tasks.task import Task

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

Order = Literal["importance", "greedy", "random"]


@dataclass(frozen=True)
class Pruning:
    """The score after each step, and the heads disabled by then, in order."""

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
    task: Task | Questions,
    *,
    order: Order = "importance",
    step: float = 0.1,
    until: float = 1.0,
    mode: str = "zero",
    kind: Kind | None = None,
    choose_on: Questions | None = None,
    seed: int = 0,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> Pruning:
    """Disable heads in steps of a tenth, the least important first, and score after each step.

    "importance" orders heads once by their gate gradients, "greedy" chooses before every step the
    heads that cost the score least, "random" is the baseline. `choose_on` are the questions heads
    are chosen on; choosing on the reported ones flatters the curve.
    """
    kind = chosen_kind(scope, kind)
    if order not in get_args(Order):
        raise BadInput(f"There is no order {order!r}; choose one of {', '.join(get_args(Order))}.")
    find_mode(mode)
    if output is not None:
        check_table(output, "A pruning curve")
    check_weights(scope.model, scope.name)
    questions = as_questions(scope, task, limit, seed)
    choice = choose_on or questions
    stops = _stops(len(scope.layer_numbers[kind]) * scope.heads[kind], step, until)
    identity = {
        **scope_identity(scope),
        **questions_identity(questions),
        "settings": [order, stops, mode, kind, questions_identity(choice), seed],
    }
    with Run(output, identity, restart=restart, progress=progress) as run:
        pruner = _Pruner(scope, choice, order, mode, kind, seed)
        disabled, scores = _curve(run, pruner, questions, stops)
        found = Pruning(order, questions.metric.name, tuple(disabled), tuple(scores))
        if output is not None:
            write_table(found.table, output)
    return found


def _curve(
    run: Run, pruner: _Pruner, questions: Questions, stops: list[int]
) -> tuple[list[tuple[tuple[int, int], ...]], list[float]]:
    """The heads disabled at every step and the score there; a part of the run."""
    part, title = run.part("curve"), f"Disabling more and more heads on {questions.name}"
    disabled: list[tuple[tuple[int, int], ...]] = []
    scores: list[float] = []
    if (state := part.recall()) is not None:
        scores = list(state.position["scores"])
        disabled = [tuple((a, b) for a, b in heads) for heads in state.position["disabled"]]

    def now() -> State:
        return State({"disabled": disabled, "scores": scores})

    for stop in stops[len(scores) :]:
        run.tell(len(scores), len(stops), title=title)
        chosen = pruner.grown(disabled[-1] if disabled else (), stop)
        reached = questions.metric(answer(pruner.without(chosen), questions), questions.labels)
        with part.step(now):
            disabled.append(chosen)
            scores.append(reached)
    return disabled, scores


class _Pruner:
    """Chooses the next heads in one of the orders."""

    def __init__(
        self, scope: Scope, questions: Questions, order: Order, mode: str, kind: Kind, seed: int
    ) -> None:
        self._scope, self._questions, self._mode = scope, questions, mode
        self._kind: Kind = kind
        self._order: Order = order
        layers, heads = scope.layer_numbers[kind], scope.heads[kind]
        self._every = [(layer, head) for layer in layers for head in range(heads)]
        self._queue: list[tuple[int, int]] = []
        if order == "importance":
            self._queue = importance(scope, questions, kind=kind, progress=False).ranked()
        elif order == "random":
            dealt = np.random.default_rng(seed).permutation(len(self._every))
            self._queue = [self._every[i] for i in dealt]

    def without(self, heads: tuple[tuple[int, int], ...]) -> Scope:
        if not heads:
            return self._scope
        return self._scope.without(heads=list(heads), mode=self._mode, kind=self._kind)

    def grown(self, chosen: tuple[tuple[int, int], ...], size: int) -> tuple[tuple[int, int], ...]:
        """`count` heads: those chosen before, and the next in the order."""
        if self._order != "greedy":
            return tuple(self._queue[:size])
        while len(chosen) < size:
            left = [head for head in self._every if head not in chosen]
            now, count = self.without(chosen), size - len(chosen)
            chosen += tuple(_cheapest(now, self._questions, left, self._mode, self._kind, count))
        return chosen


def _cheapest(
    scope: Scope,
    questions: Questions,
    left: Sequence[tuple[int, int]],
    mode: str,
    kind: Kind,
    count: int,
) -> list[tuple[int, int]]:
    """The heads that cost least to disable now, each alone."""
    edits = [OneLayer(layer, (head,)) for layer, head in left]
    swept = answer_each(scope, questions, edits, mode=mode, kind=kind)
    sign = 1.0 if questions.metric.higher_is_better else -1.0
    scores = np.array(
        [sign * questions.metric(answers, questions.labels) for answers in swept.edited]
    )
    return [left[i] for i in np.argsort(-scores, kind="stable")[:count]]


def _stops(total: int, step: float, until: float) -> list[int]:
    if not 0 < step <= 1 or not 0 < until <= 1:
        raise BadInput(f"step= and until= are shares from 0 to 1, not {step} and {until}.")
    shares = np.arange(0, until + step / 2, step)
    return sorted({min(total, round(share * total)) for share in shares})
