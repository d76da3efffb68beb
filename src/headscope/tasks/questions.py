"""Questions: a model's inputs, and how its answers are read and scored.

Any task becomes questions; so do a caller's own batches of model inputs with a function that reads
the output and a metric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headscope.errors import BadInput, HeadscopeError
from headscope.reading.predict import logits_in
from headscope.tasks.answer_metrics import ANSWER_METRICS, AnswerMetric, Answers, answer_metric
from headscope.tasks.fitting import FITTING, fitting, metric_for, room
from headscope.tasks.metrics import Metric, given_sums, share_of_sums
from headscope.tasks.task import Task
from headscope.text.batching import by_length, text_lengths

if TYPE_CHECKING:
    from headscope.reading import Scope

Inputs = dict[str, Tensor]
MAX_TOKENS = 128
MASKED_SHARE = 0.15


@dataclass(frozen=True)
class Questions:
    """Batches of model inputs with their targets; `answers` and `losses` read the output.

    `answers(output, targets)` gives b o: scores per class, one number, or a summed loss and how
    many tokens it sums over. `losses(output, targets)` gives b, for gradients.
    """

    name: str
    batches: tuple[tuple[Inputs, Tensor], ...]
    answers: Callable[[Any, Tensor], Tensor]
    losses: Callable[[Any, Tensor], Tensor]
    labels: np.ndarray  # n, in the order of the batches
    metric: Metric
    anywhere: bool = False  # answers may depend on positions without a gradient
    told: str = ""  # identifies a caller's metric among others of its name

    def __len__(self) -> int:
        return len(self.labels)


class AsksQuestions(Protocol):
    """Prompts with answers, such as pairs."""

    def questions(self, scope: Scope, metric: object = None) -> Questions: ...


def make_questions(
    scope: Scope,
    task: Task,
    *,
    metric: object = None,
    batch_size: int = 32,
    max_tokens: int | None = MAX_TOKENS,
    seed: int = 0,
) -> Questions:
    """The task for this scope: tokenised, cut to `max_tokens`, batched by length.

    `metric` is the name of a metric that fits the task or of one of single answers (probability,
    logit, …), or a function of the logits, and of the targets if it takes two arguments, that
    returns a number for each example.
    """
    task = fitting(scope, task)
    single = _of_answers(task, metric)
    marks = metric if isinstance(metric, Metric) else metric_for(task, None if single else metric)
    if batch_size < 1:
        raise BadInput(f"A batch holds at least 1 example, not {batch_size}.")
    most = min(room(max_tokens or MAX_TOKENS), scope.max_tokens or MAX_TOKENS)
    order = by_length(text_lengths(task.texts, task.text_pairs or [None] * len(task)))
    batches: list[tuple[Inputs, Tensor]] = []
    for start in range(0, len(order), batch_size):
        part = task.select(order[start : start + batch_size])
        encoded = scope.encode(
            list(part.texts),
            None if part.text_pairs is None else list(part.text_pairs),
            truncate=True,
            max_tokens=most,
        ).inputs
        if task.kind == "masked":
            batches.append(_masked(scope, encoded, seed + start))
        elif task.kind == "next":
            batches.append((encoded, _next(encoded)))
        else:
            batches.append((encoded, torch.from_numpy(part.labels)))
    if single is not None:
        return marked_singly(task.name, batches, task.labels[order], single, _row_by_row(single))
    answers, losses = _READERS[task.kind]
    return Questions(task.name, tuple(batches), answers, losses, task.labels[order], marks)


def _of_answers(task: Task, metric: object) -> AnswerMetric | None:
    """The requested metric of single answers, or None for a task's own metric."""
    if metric is None or isinstance(metric, Metric):
        return None
    if isinstance(metric, str) and (metric in FITTING[task.kind] or metric not in ANSWER_METRICS):
        return None
    found = answer_metric(metric)
    if task.kind == "regression" and not found.own:
        raise BadInput(
            f"{task.name} has numbers as answers, for which {found.name} is not "
            f"defined; choose another metric."
        )
    return found


def marked_singly(
    name: str,
    batches: Sequence[tuple[Inputs, Tensor]],
    labels: np.ndarray,
    metric: AnswerMetric,
    read: Callable[[Any, Tensor], Tensor],  # output, targets -> b 2: a sum, and of how many
) -> Questions:
    """Questions scored by a metric of single answers; its negative direction is the loss."""

    def losses(output: Any, targets: Tensor) -> Tensor:
        if not metric.differentiable:
            raise BadInput(f"{metric.name} has no gradient; choose loss, logit or probability.")
        return -metric.sign * read(output, targets)[:, 0]

    marks = Metric(metric.name, metric.higher_is_better, given_sums, share_of_sums)
    blind = metric.own or not metric.differentiable
    return Questions(name, tuple(batches), read, losses, labels, marks, blind, metric.identity)


def _row_by_row(metric: AnswerMetric) -> Callable[[Any, Tensor], Tensor]:
    """b 2: the metric summed over an example's answers, and their number."""

    def own(output: Any, targets: Tensor) -> Tensor:
        logits = logits_in(output)
        assert logits is not None
        value = metric(logits.float(), targets.to(logits.device))
        return torch.stack([value, torch.ones_like(value)], dim=1)

    def registered(output: Any, targets: Tensor) -> Tensor:
        logits = logits_in(output)
        assert logits is not None
        targets = targets.to(logits.device)
        if logits.dim() == 2:
            logits, targets = logits[:, None], targets[:, None]
        counted = targets != -100
        right, rows = targets[counted], counted.nonzero()[:, 0]
        first = torch.zeros_like(right)
        values = metric(logits[counted].float()[:, None], Answers(first, right, first - 1))
        sums = values.new_zeros(len(targets)).index_add(0, rows, values)
        return torch.stack([sums, counted.sum(1).to(sums)], dim=1)

    return own if metric.own else registered


def class_scores(output: Any, targets: Tensor) -> Tensor:
    return output.logits


def class_losses(output: Any, targets: Tensor) -> Tensor:
    return functional.cross_entropy(
        output.logits, targets.to(output.logits.device), reduction="none"
    )


def number_losses(output: Any, targets: Tensor) -> Tensor:
    aimed = targets.to(output.logits.device, output.logits.dtype)
    return (output.logits[:, 0] - aimed) ** 2


def token_losses(output: Any, targets: Tensor) -> Tensor:
    """b: the loss summed over the tokens that count (targets of -100 do not)."""
    logits = logits_in(output)
    assert logits is not None  # checked: the task fits the model
    targets = targets.to(logits.device)
    if logits.shape[:2] != targets.shape:
        raise HeadscopeError(
            f"The model returns {logits.shape[1]} positions for {targets.shape[1]} "
            "tokens, so a text has no loss by token; give Questions of your own."
        )
    counted = targets != -100
    lost = functional.cross_entropy(logits[counted].float(), targets[counted], reduction="none")
    rows = counted.nonzero()[:, 0]
    return torch.zeros(len(targets), dtype=lost.dtype, device=lost.device).index_add(0, rows, lost)


def token_answers(output: Any, targets: Tensor) -> Tensor:
    lost = token_losses(output, targets)
    return torch.stack([lost, (targets != -100).sum(dim=1).to(lost)], dim=1)


_READERS: dict[str, tuple[Callable[[Any, Tensor], Tensor], Callable[[Any, Tensor], Tensor]]] = {
    "classification": (class_scores, class_losses),
    "regression": (class_scores, number_losses),
    "masked": (token_answers, token_losses),
    "next": (token_answers, token_losses),
}


def _masked(scope: Scope, inputs: Inputs, seed: int) -> tuple[Inputs, Tensor]:
    """One word piece in seven masked, at least one per text."""
    tokenizer: Any = scope.tokenizer
    ids = inputs["input_ids"]
    special = torch.zeros_like(ids, dtype=torch.bool)
    for number in tokenizer.all_special_ids:
        special |= ids == number
    # drawn on the CPU, so that a GPU masks the same words
    chance = torch.rand(ids.shape, generator=torch.Generator().manual_seed(seed))
    luck = chance.to(ids.device).masked_fill(special, 2.0)
    hidden = (luck < MASKED_SHARE) | ((luck == luck.min(dim=1, keepdim=True).values) & ~special)
    targets = ids.masked_fill(~hidden, -100)
    return {**inputs, "input_ids": ids.masked_fill(hidden, tokenizer.mask_token_id)}, targets


def _next(inputs: Inputs) -> Tensor:
    """What follows each token; nothing follows the last, and padding does not count."""
    ids, real = inputs["input_ids"], inputs["attention_mask"].bool()
    targets = torch.full_like(ids, -100)
    follows = real[:, :-1] & real[:, 1:]
    targets[:, :-1] = ids[:, 1:].masked_fill(~follows, -100)
    return targets
