"""Pairs of prompts as one padded batch, and the metric of their logits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from headscope.circuits.logits.target import check_answers, token_id, word_layer
from headscope.circuits.prompts import END
from headscope.errors import BadInput
from headscope.models.limits import embedded_tokens
from headscope.reading.describe import trial_inputs
from headscope.reading.inputs.decoder_text import encode_both
from headscope.reading.predict import word_logits
from headscope.tasks.answer_metrics import AnswerMetric, Answers, answer_metric
from headscope.tasks.questions import Questions, marked_singly
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.circuits.patching.pairs import Pair, Pairs
    from headscope.reading import Scope

AT_ONCE = 8  # pairs in a batch


@dataclass(frozen=True)
class PairBatch:
    """Prompts padded to one length."""

    scope: Scope
    clean: dict[str, Tensor]
    corrupted: dict[str, Tensor]
    tokens: tuple[Tokens, Tokens]  # of the first pair: clean, corrupted
    at: Tensor  # 2 b, positions whose logits are read: clean prompts, corrupted prompts
    right: Tensor  # b
    wrong: Tensor  # b, −1 without a wrong answer
    numbers: tuple[int, ...]  # the pairs' numbers
    named: dict[str, Tensor]  # 2 b: positions by their names
    metric: AnswerMetric

    def read(self, output: Any, copies: int = 1, clean: bool = False) -> Tensor:
        """c·b 1: the metric of the model's output."""
        logits = word_logits(self.scope, output)
        side = self.at[0 if clean else 1]
        given = (one.repeat(copies) for one in (side, self.right, self.wrong))
        return self.metric(logits, Answers(*given))[:, None]


def trial_batch(scope: Scope) -> PairBatch:
    """A few tokens paired with themselves, to test whether a model can be patched."""
    inputs = trial_inputs(scope.model)
    tokens = Tokens.plain([str(number) for number in range(next(iter(inputs.values())).shape[1])])
    none = torch.full((1,), -1, device=scope.device)
    at = torch.zeros(2, 1, dtype=torch.long, device=scope.device)
    return PairBatch(
        scope, inputs, inputs, (tokens, tokens), at, at[0], none, (0,), {}, answer_metric(None)
    )


def batches(
    scope: Scope, pairs: Pairs, metric: AnswerMetric, names: Collection[str] = ()
) -> list[PairBatch]:
    """The pairs by length, a few at a time; `names` are the positions that will be patched."""
    if word_layer(scope) is None:
        raise BadInput(
            f"{scope.name} has no output layer of words, so no answer can be scored; load the "
            f"model as it was pretrained."
        )
    lengths = [_length(scope, pair, bool(names)) for pair in pairs.pairs]
    order = sorted(range(len(pairs)), key=lambda number: lengths[number])
    chosen = [order[start : start + AT_ONCE] for start in range(0, len(order), AT_ONCE)]
    return [_batch(scope, pairs, some, metric, names) for some in chosen]


def _length(scope: Scope, pair: Pair, named: bool) -> int:
    one, other = (len(scope.encode([text]).tokens[0]) for text in (pair.clean, pair.corrupted))
    if one != other and not named:
        raise BadInput(
            f"The clean prompt has {one} tokens and the corrupted one {other}; give prompts of the "
            "same length, token for token, or name the positions to patch: positions=['S2']."
        )
    return max(one, other)


def _batch(
    scope: Scope,
    pairs: Pairs,
    numbers: list[int],
    metric: AnswerMetric,
    names: Collection[str],
) -> PairBatch:
    members = [pairs.pairs[number] for number in numbers]
    sides: tuple[Literal["clean", "corrupted"], ...] = ("clean", "corrupted")
    inputs: list[dict[str, Tensor]] = []
    first: list[Tokens] = []
    ends: list[list[int]] = []
    places: dict[str, list[list[int]]] = {name: [] for name in names}
    for side in sides:
        texts = [getattr(pair, side) for pair in members]
        if scope.encoder_decoder:
            batch, heard = encode_both(scope, texts, [None] * len(texts))
        else:
            batch = scope.encode(texts)
            heard = batch.tokens
        inputs.append(dict(batch.inputs))
        first.append(heard[0])
        ends.append([_answer_position(scope, one) for one in heard])
        for name, found in places.items():
            if name == END:
                found.append(ends[-1])
                continue
            prompts = [pair.prompt(side) for pair in members]
            found.append([p.position(name, t) for p, t in zip(prompts, heard, strict=True)])
    device = scope.device
    answers = [_answers(scope, pair) for pair in members]
    return PairBatch(
        scope,
        *inputs,
        tokens=(first[0], first[1]),
        at=torch.tensor(ends, device=device),
        right=torch.tensor([right for right, _ in answers], device=device),
        wrong=torch.tensor([wrong for _, wrong in answers], device=device),
        numbers=tuple(numbers),
        named={name: torch.tensor(found, device=device) for name, found in places.items()},
        metric=metric,
    )


def _answers(scope: Scope, pair: Pair) -> tuple[int, int]:
    """The right answer and the wrong one, −1 if there is none."""
    asked = [pair.answer] if pair.wrong is None else [pair.answer, pair.wrong]
    ids = [token_id(scope, one) for one in asked]
    known = embedded_tokens(scope.model)
    assert known is not None  # the size of its output layer
    check_answers(ids, known)
    return ids[0], -1 if pair.wrong is None else ids[1]


def _answer_position(scope: Scope, tokens: Tokens) -> int:
    if "decoder" in scope.kinds:
        return len(tokens) - 1
    masked = (tokens.ids == scope.tokenizer.mask_token_id).nonzero()[0]
    if not len(masked):
        raise BadInput(
            f"{scope.name} fills in masked words; put {scope.tokenizer.mask_token} into "
            "the prompt in place of the answer."
        )
    return int(masked[0])


def questions_of(scope: Scope, pairs: Pairs, metric: object = None) -> Questions:
    """The clean prompts as questions, in the pairs' order; targets: b 3, position and answers."""
    marks = answer_metric(metric)
    made: list[tuple[dict[str, Tensor], Tensor]] = []
    for start in range(0, len(pairs), AT_ONCE):
        numbers = list(range(start, min(start + AT_ONCE, len(pairs))))
        one = _batch(scope, pairs, numbers, marks, ())
        made.append((one.clean, torch.stack([one.at[0], one.right, one.wrong], dim=1)))

    def read(output: Any, targets: Tensor) -> Tensor:
        value = marks(word_logits(scope, output), Answers(*targets.T))
        return torch.stack([value, torch.ones_like(value)], dim=1)

    return marked_singly(pairs.name, made, np.zeros(len(pairs)), marks, read)
