"""A model's answers to an exam: plainly, and with every head or layer disabled in turn."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headscope.capture import Call, Kind
from headscope.edits.disable import Disabled, chosen_kind
from headscope.edits.kept import Kept, joined
from headscope.edits.modes import Instead
from headscope.edits.modes import mode as find_mode
from headscope.edits.sweep.layers import Stack, find_stack
from headscope.edits.sweep.sweep import Sweep
from headscope.runs.checkpoint import Pace
from headscope.tasks.questions import Exam

if TYPE_CHECKING:
    from headscope.reading import Scope

Track = Callable[[Sequence[Any], str], Iterable[Any]]
# copies of a batch run together up to this many tokens: what a processor's cache likes is little,
# a GPU wants many
TOKENS_AT_ONCE = {"cpu": 2_048, "cuda": 32_768}
SCORES_AT_ONCE = 1 << 26  # and, where every token is scored over the vocabulary, so many scores


@dataclass(frozen=True)
class OneLayer:
    """An edit of one layer: these of its heads are disabled."""

    layer: int
    heads: tuple[int, ...]


def untracked(items: Sequence[Any], label: str) -> Iterable[Any]:
    return items


def answer(scope: Scope, exam: Exam, track: Track = untracked) -> np.ndarray:
    """n o: the scope's answers, under whatever edits it has."""
    found = [
        exam.answers(scope.forward(inputs), targets).float().cpu().numpy()
        for inputs, targets in track(exam.batches, f"answering {exam.name}")
    ]
    return np.concatenate(found)


def score(scope: Scope, exam: Exam, track: Track = untracked) -> float:
    """The exam's metric of the scope's answers."""
    return exam.metric(answer(scope, exam, track), exam.labels)


@dataclass(frozen=True)
class Swept:
    """Answers with no edit and under each edit, and how they were computed."""

    baseline: np.ndarray  # n o
    edited: np.ndarray  # e n o
    shared: bool  # False: the model could not be cut into layers, every edit was a full pass


def answer_each(
    scope: Scope,
    exam: Exam,
    edits: Sequence[OneLayer],
    *,
    mode: str = "uniform",
    kind: Kind | None = None,
    weights: object = None,
    copies: int | None = None,
    kept: Kept | None = None,
    track: Track = untracked,
) -> Swept:
    """The answers under every edit in turn, sharing what the edits have in common.

    With `kept` finished batches are put on disk, and found there by the next run.
    """
    kind = chosen_kind(scope, kind)
    instead = find_mode(mode, weights)
    stack = stack_of(scope, exam, kind)
    done, pieces = (0, []) if kept is None else kept.recall()
    pace, new = Pace(), len(pieces)  # `new` is where this run's own pieces begin
    label = f"disabling heads on {exam.name}" + ("" if stack else ", a full pass each")
    try:
        for number, (inputs, targets) in enumerate(track(exam.batches, label)):
            if number < done:
                continue
            one = dataclasses.replace(exam, batches=((inputs, targets),))
            if stack is None:
                plain = answer_each_plainly(scope, one, edits, mode, kind, weights)
                pieces.append((answer(scope, one), plain))
            else:
                pieces.append(_sweep_batch(scope, one, stack, edits, instead, weights, copies))
            if kept is not None and pace.due():
                kept.keep(done + len(pieces) - new, pieces)
    finally:
        if kept is not None and len(pieces) > new:
            kept.keep(done + len(pieces) - new, pieces)
    return Swept(*joined(pieces), stack is not None)


def _sweep_batch(
    scope: Scope,
    exam: Exam,
    stack: Stack,
    edits: Sequence[OneLayer],
    instead: Instead,
    weights: object,
    copies: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The baseline (b o) and the edited answers (e b o) of the exam's only batch."""
    ((inputs, targets),) = exam.batches

    def read(output: Any, times: int) -> Tensor:
        return exam.answers(output, targets.repeat(times, *[1] * (targets.dim() - 1)))

    at_once = copies or _side_by_side(scope, exam, inputs)
    found: dict[int, np.ndarray] = {}
    with Sweep(scope, stack, inputs, read, instead, weights) as sweep:
        baseline = sweep.baseline.float().cpu().numpy()
        for layer in sorted({edit.layer for edit in edits}):
            here = [i for i, edit in enumerate(edits) if edit.layer == layer]
            given = sweep.answers(layer, [edits[i].heads for i in here], at_once)
            found.update(zip(here, given.float().cpu().numpy(), strict=True))
    return baseline, np.stack([found[i] for i in range(len(edits))])


def _side_by_side(scope: Scope, exam: Exam, inputs: dict[str, Tensor]) -> int:
    """How many copies of a batch run together; scores over a vocabulary fill memory fastest."""
    most = TOKENS_AT_ONCE.get(scope.device.type, 8_192)
    tokens = inputs["input_ids"].numel() if "input_ids" in inputs else most
    words = int(getattr(scope.model.config, "vocab_size", 0)) if exam.metric.name == "loss" else 0
    return max(1, (min(most, SCORES_AT_ONCE // words) if words else most) // tokens)


def answer_each_plainly(
    scope: Scope,
    exam: Exam,
    edits: Sequence[OneLayer],
    mode: str = "uniform",
    kind: Kind | None = None,
    weights: object = None,
    track: Track = untracked,
) -> np.ndarray:
    """e n o: the same, one full pass per edit."""
    kind = chosen_kind(scope, kind)
    found: list[np.ndarray] = []
    for edit in track(edits, f"disabling heads on {exam.name}, a full pass each"):
        heads = tuple((edit.layer, head) for head in edit.heads)
        found.append(answer(scope.edited(Disabled(kind, heads, mode, weights)), exam))
    return np.stack(found)


def stack_of(scope: Scope, exam: Exam, kind: Kind) -> Stack | None:
    """The scope's layers as the exam's first example runs through them."""
    calls: list[Call] = []
    inputs = {name: value[:1] for name, value in exam.batches[0][0].items()}

    def note(call: Call) -> None:
        calls.append(call)

    with torch.no_grad():
        scope.forward(inputs, note, lazy=True)
    return find_stack(scope.model, kind, calls)
