"""Metrics of single answers: one number per prompt, and which direction is better.

A registered name, or any function of the logits: `metric(logits)` or `metric(logits, answers)`
gives a number per row of logits (b t v). A name that ends in `_difference` compares the answer with
a wrong one.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headscope.errors import BadInput


@dataclass(frozen=True)
class Answers:
    """A batch's answers and their positions."""

    at: Tensor  # b, the position whose logits are the answer's
    right: Tensor  # b, the answer's token
    wrong: Tensor  # b, the wrong answer; −1 if there is none

    def logits(self, logits: Tensor) -> Tensor:
        """b v: the logits at the answers' positions."""
        return logits[torch.arange(len(logits), device=logits.device), self.at]


@dataclass(frozen=True)
class AnswerMetric:
    """A number for every answer; `higher_is_better` gives the direction."""

    name: str
    function: Callable[..., Tensor]  # logits b t v, answers -> b
    higher_is_better: bool = True
    own: bool = False  # the caller's own function, which may use any position
    differentiable: bool = True

    def __call__(self, logits: Tensor, answers: Answers | Tensor) -> Tensor:
        found = self.function(logits, answers)
        if not isinstance(found, Tensor) or found.shape != (len(logits),):  # pyright: ignore[reportUnnecessaryIsInstance]
            shape = tuple(getattr(found, "shape", ())) or type(found).__name__
            raise BadInput(
                f"The metric {self.name} gave {shape} for {len(logits)} rows of logits; return "
                f"one number per row, not their mean."
            )
        return found

    @property
    def identity(self) -> str:
        """The metric's identity; callers' functions of one name differ."""
        code: Any = getattr(self.function, "__code__", None)
        if not self.own or code is None:
            return self.name
        around = [cell.cell_contents for cell in getattr(self.function, "__closure__", None) or ()]
        inner = [getattr(one, "__code__", one) for one in around]
        parts = [(one.co_code, one.co_consts, one.co_names) if hasattr(one, "co_code") else one
                 for one in (code, *inner)]  # fmt: skip
        return f"{self.name} {hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"

    @property
    def sign(self) -> float:
        """1 if more is better, else −1."""
        return 1.0 if self.higher_is_better else -1.0


def _picked(scores: Tensor, ids: Tensor) -> Tensor:
    return scores.gather(1, ids.clamp(min=0)[:, None])[:, 0]


def _logit(logits: Tensor, answers: Answers) -> Tensor:
    return _picked(answers.logits(logits), answers.right)


def _difference(logits: Tensor, answers: Answers) -> Tensor:
    """The answer's logit, minus the wrong one's if there is one."""
    here = answers.logits(logits)
    right = _picked(here, answers.right)
    return torch.where(answers.wrong >= 0, right - _picked(here, answers.wrong), right)


def _probability(logits: Tensor, answers: Answers) -> Tensor:
    return _picked(answers.logits(logits).softmax(-1), answers.right)


def _probability_difference(logits: Tensor, answers: Answers) -> Tensor:
    here = answers.logits(logits).softmax(-1)
    right = _picked(here, answers.right)
    return torch.where(answers.wrong >= 0, right - _picked(here, answers.wrong), right)


def _loss(logits: Tensor, answers: Answers) -> Tensor:
    return -_picked(answers.logits(logits).log_softmax(-1), answers.right)


def _accuracy(logits: Tensor, answers: Answers) -> Tensor:
    """1 if the answer beats the wrong one, or all others if none is given."""
    here = answers.logits(logits)
    best = here.argmax(-1) == answers.right
    beats = _picked(here, answers.right) > _picked(here, answers.wrong)
    return torch.where(answers.wrong >= 0, beats, best).to(logits.dtype)


ANSWER_METRICS = {
    metric.name: metric
    for metric in (
        AnswerMetric("logit_difference", _difference),
        AnswerMetric("logit", _logit),
        AnswerMetric("probability", _probability),
        AnswerMetric("probability_difference", _probability_difference),
        AnswerMetric("loss", _loss, higher_is_better=False),
        AnswerMetric("accuracy", _accuracy, differentiable=False),
    )
}


def answer_metric(given: object) -> AnswerMetric:
    """A metric by its name, unchanged, or from a function of logits."""
    if given is None:
        return ANSWER_METRICS["logit_difference"]
    if isinstance(given, AnswerMetric):
        return given
    if isinstance(given, str):
        if given not in ANSWER_METRICS:
            raise BadInput(
                f"There is no metric {given!r}; choose one of {', '.join(ANSWER_METRICS)}, or give "
                "a function of the logits."
            )
        return ANSWER_METRICS[given]
    if not callable(given):
        raise BadInput(f"A metric is a name or a function of the logits, not {given!r}.")
    name = str(getattr(given, "__name__", type(given).__name__))
    higher = bool(getattr(given, "higher_is_better", True))
    return AnswerMetric(name, with_batch(given), higher, own=True)


def with_batch(function: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function of logits, or of logits and answers, as one of both."""

    def of_logits(logits: Tensor, _: object) -> Tensor:
        return function(logits)

    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return of_logits
    places = [one for one in taken if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if len(places) > 1 or any(one.kind == one.VAR_POSITIONAL for one in taken):
        return function
    return of_logits
