"""A model's answers to questions: plainly, and with every head or layer disabled in turn."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from headscope.arguments import need_count
from headscope.capture import Call, Kind
from headscope.capture.stack import Stack, find_stack
from headscope.edits.disable import MEAN_OUTPUT, Disabled, chosen_kind, means_of
from headscope.edits.modes import Instead
from headscope.edits.modes import mode as find_mode
from headscope.edits.sweep.sweep import Sweep, can_be_swept
from headscope.errors import BadInput, HeadscopeError
from headscope.runs import Run, State
from headscope.tasks.files import read_task
from headscope.tasks.questions import AsksQuestions, Questions, make_questions
from headscope.tasks.task import Task

if TYPE_CHECKING:
    from headscope.reading import Scope

Asked = Task | Questions | AsksQuestions | str | Path
Piece = tuple[np.ndarray, np.ndarray]  # b o, e b o: answers with no edit and under each
# copies of a batch run together up to this many tokens: few fit a processor's cache, a GPU needs
# many
TOKENS_AT_ONCE = {"cpu": 2_048, "cuda": 32_768}
SCORES_AT_ONCE = 1 << 26  # and up to this many scores, if every token is scored over the vocabulary


@dataclass(frozen=True)
class OneLayer:
    """An edit of one layer: these of its heads are disabled."""

    layer: int
    heads: tuple[int, ...]


def as_questions(
    scope: Scope,
    task: Asked,
    limit: int | None = None,
    seed: int = 0,
    metric: object = None,
) -> Questions:
    """A task, a path to one, or a part of it, as questions for this scope."""
    if hasattr(task, "questions"):
        made = cast("AsksQuestions", task).questions(scope, metric)
        return made if limit is None else first_questions(made, limit)
    if isinstance(task, (str, Path)):
        task = read_task(task)
        if task.kind == "masked" and scope.causal:  # plain text: this model predicts next words
            task = dataclasses.replace(task, kind="next")
    if isinstance(task, Task):
        return make_questions(scope, task.first(limit), metric=metric, seed=seed)
    if not isinstance(task, Questions):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(
            f"Give a task, its path, pairs of prompts, or questions, not {type(task).__name__}."
        )
    if limit is not None or metric is not None:
        name = "limit" if limit is not None else "metric"
        raise BadInput(f"{name}= has no effect on Questions; pass it to make_questions.")
    return task


def first_questions(questions: Questions, limit: int) -> Questions:
    """The first `limit` questions."""
    need_count(limit, "limit")
    batches: list[tuple[dict[str, Tensor], Tensor]] = []
    left = limit
    for inputs, targets in questions.batches:
        if left > 0:
            some = {name: tensor[:left] for name, tensor in inputs.items()}
            batches.append((some, targets[:left]))
        left -= len(targets)
    return dataclasses.replace(questions, batches=tuple(batches), labels=questions.labels[:limit])


def questions_identity(questions: Questions) -> dict[str, str]:
    """A digest of questions: their tokens, labels, batches and metric."""
    digest = hashlib.sha256()
    for inputs, targets in questions.batches:
        for name, tensor in sorted({**inputs, "targets": targets}.items()):
            digest.update(f"{name}{tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().numpy().tobytes())
    return {"task": digest.hexdigest()[:32], "metric": questions.told or questions.metric.name}


def answer(scope: Scope, questions: Questions, run: Run | None = None) -> np.ndarray:
    """n o: the scope's answers under its edits."""
    run = run or Run(None, {})
    found = [
        questions.answers(scope.forward(inputs), targets).float().cpu().numpy()
        for inputs, targets in run.track(questions.batches, f"Answering {questions.name}")
    ]
    return _finite(np.concatenate(found))


def score(scope: Scope, questions: Questions, run: Run | None = None) -> float:
    """The questions' metric of the scope's answers."""
    return questions.metric(answer(scope, questions, run), questions.labels)


def _finite(answers: np.ndarray) -> np.ndarray:
    if not np.isfinite(answers).all():
        raise HeadscopeError(
            "The model's answers are NaN: it overflows or its weights are damaged; load "
            "it with dtype='float32', or an earlier checkpoint."
        )
    return answers


@dataclass(frozen=True)
class Swept:
    """Answers with no edit and under each edit, and how they were computed."""

    baseline: np.ndarray  # n o
    edited: np.ndarray  # e n o
    shared: bool  # False: the model could not be cut into layers, so every edit was a full pass


def answer_each(
    scope: Scope,
    questions: Questions,
    edits: Sequence[OneLayer],
    *,
    mode: str = "uniform",
    kind: Kind | None = None,
    weights: object = None,
    copies: int | None = None,
    run: Run | None = None,
    part: str = "answers",
) -> Swept:
    """The answers under every edit in turn; shared work is done once.

    A run with an output saves finished batches for the next run.
    """
    kind = chosen_kind(scope, kind)
    if mode == MEAN_OUTPUT:  # this edits outputs, not maps, so a sweep cannot share work
        weights = means_of(scope, weights)
    instead = None if mode == MEAN_OUTPUT else find_mode(mode, weights)
    stack = None if instead is None else stack_of(scope, questions, kind)
    run = run or Run(None, {})
    kept = run.part(part)
    state = kept.recall()
    done = 0 if state is None else int(state.position["batches"])
    pieces = [] if state is None else [(state.arrays["baseline"], state.arrays["edited"])]

    def now() -> State:
        baseline, edited = _joined(pieces)
        return State({"batches": done}, {"baseline": baseline, "edited": edited})

    title = f"Disabling heads on {questions.name}" + ("" if stack else ", a full pass each")
    run.tell(done, len(questions.batches), title=title)
    for batch in questions.batches[done:]:
        one = dataclasses.replace(questions, batches=(batch,))
        if stack is None or instead is None:
            plain = answer_each_plainly(scope, one, edits, mode, kind, weights)
            piece = (answer(scope, one), plain)
        else:
            piece = _sweep_batch(scope, one, stack, edits, instead, weights, copies)
        _finite(piece[0])
        with kept.step(now):
            pieces.append(piece)
            done += 1
        run.tell(done, len(questions.batches), title=title)
    return Swept(*_joined(pieces), stack is not None)


def _joined(pieces: list[Piece]) -> Piece:
    """The answers of all batches, in their order."""
    baseline, edited = zip(*pieces, strict=True)
    return np.concatenate(baseline), np.concatenate(edited, axis=1)


def _sweep_batch(
    scope: Scope,
    questions: Questions,
    stack: Stack,
    edits: Sequence[OneLayer],
    instead: Instead,
    weights: object,
    copies: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The baseline (b o) and the edited answers (e b o) of one batch of questions."""
    ((inputs, targets),) = questions.batches

    def read(output: Any, times: int) -> Tensor:
        return questions.answers(output, targets.repeat(times, *[1] * (targets.dim() - 1)))

    at_once = copies or _side_by_side(scope, questions, inputs)
    found: dict[int, np.ndarray] = {}
    sweep = Sweep(scope, stack, inputs, read, instead, weights)
    sweep.anywhere = questions.anywhere
    with sweep:
        baseline = sweep.baseline.float().cpu().numpy()
        for layer in sorted({edit.layer for edit in edits}):
            here = [i for i, edit in enumerate(edits) if edit.layer == layer]
            given = sweep.answers(layer, [edits[i].heads for i in here], at_once)
            found.update(zip(here, given.float().cpu().numpy(), strict=True))
    return baseline, np.stack([found[i] for i in range(len(edits))])


def _side_by_side(scope: Scope, questions: Questions, inputs: dict[str, Tensor]) -> int:
    """How many copies of a batch run together; scores over a vocabulary need most memory."""
    most = TOKENS_AT_ONCE.get(scope.device.type, 8_192)
    tokens = inputs["input_ids"].numel() if "input_ids" in inputs else most
    vocabulary = int(getattr(scope.model.config, "vocab_size", 0))
    words = vocabulary if questions.metric.name == "loss" else 0
    return max(1, (min(most, SCORES_AT_ONCE // words) if words else most) // tokens)


def answer_each_plainly(
    scope: Scope,
    questions: Questions,
    edits: Sequence[OneLayer],
    mode: str = "uniform",
    kind: Kind | None = None,
    weights: object = None,
    run: Run | None = None,
) -> np.ndarray:
    """e n o: the answers, by one full pass per edit."""
    kind = chosen_kind(scope, kind)
    found: list[np.ndarray] = []
    run = run or Run(None, {})
    for edit in run.track(edits, f"Disabling heads on {questions.name}, a full pass each"):
        heads = tuple((edit.layer, head) for head in edit.heads)
        if mode == MEAN_OUTPUT:
            without = scope.without(heads, mode=mode, kind=kind, weights=weights)
        else:
            without = scope.edited(Disabled(kind, heads, mode, weights))
        found.append(answer(without, questions))
    return np.stack(found)


def stack_of(scope: Scope, questions: Questions, kind: Kind) -> Stack | None:
    """The scope's layers as the first question runs through them."""
    calls: list[Call] = []
    inputs = {name: value[:1] for name, value in questions.batches[0][0].items()}

    def note(call: Call) -> None:
        calls.append(call)

    with torch.no_grad():
        scope.forward(inputs, note, lazy=True)
    stack = find_stack(scope.model, kind, calls)
    return stack if stack is not None and can_be_swept(scope, stack) else None
