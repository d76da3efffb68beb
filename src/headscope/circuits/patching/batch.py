"""Pairs of equal length as one batch: what both prompts are, and what is read off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headscope.circuits.logits.target import check_answers, token_id, word_layer
from headscope.circuits.patching.pairs import Pair, Pairs
from headscope.errors import BadInput
from headscope.models.limits import embedded_tokens
from headscope.reading.decoder_text import encode_both
from headscope.reading.predict import word_logits

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokens import Tokens

AT_ONCE = 8  # pairs run side by side


@dataclass(frozen=True)
class PairBatch:
    """Prompts of one length."""

    scope: Scope
    clean: dict[str, Tensor]
    corrupted: dict[str, Tensor]
    tokens: tuple[Tokens, Tokens]  # of the first pair: clean, corrupted
    at: Tensor  # b, whose logits are read
    right: Tensor  # b
    wrong: Tensor  # b, −1 where the answer counts alone
    numbers: tuple[int, ...]  # numbers of the pairs

    def read(self, output: Any, copies: int = 1) -> Tensor:
        """c·b 1: the answer's logit, less the wrong one's."""
        logits = word_logits(self.scope, output)
        rows = torch.arange(len(logits), device=logits.device)
        at, right, wrong = (one.repeat(copies) for one in (self.at, self.right, self.wrong))
        logits = logits[rows, at]
        value = logits[rows, right]
        other = logits[rows, wrong.clamp(min=0)]
        return torch.where(wrong >= 0, value - other, value)[:, None]


def batches(scope: Scope, pairs: Pairs) -> Iterator[PairBatch]:
    """The pairs grouped by length, a few at a time."""
    if word_layer(scope) is None:
        raise BadInput(
            f"{scope.name} has no output layer of words, so no answer can come back; load the "
            "model as it was pretrained."
        )
    groups: dict[int, list[tuple[int, Pair]]] = {}
    for number, pair in enumerate(pairs.pairs):
        groups.setdefault(_length(scope, pair), []).append((number, pair))
    for members in groups.values():
        for start in range(0, len(members), AT_ONCE):
            yield _batch(scope, members[start : start + AT_ONCE])


def _length(scope: Scope, pair: Pair) -> int:
    one, other = (len(scope.encode([text]).tokens[0]) for text in (pair.clean, pair.corrupted))
    if one != other:
        raise BadInput(
            f"The clean prompt has {one} tokens and the corrupted one {other}; patching needs "
            "prompts of the same length, token for token."
        )
    return one


def _batch(scope: Scope, members: list[tuple[int, Pair]]) -> PairBatch:
    pairs = [pair for _, pair in members]
    both: list[tuple[dict[str, Tensor], list[Tokens]]] = []
    for texts in ([pair.clean for pair in pairs], [pair.corrupted for pair in pairs]):
        if scope.encoder_decoder:
            batch, heard = encode_both(scope, texts, [None] * len(texts))
        else:
            batch = scope.encode(texts)
            heard = batch.tokens
        both.append((dict(batch.inputs), heard))
    (clean, tokens), (corrupted, other) = both
    device = scope.device
    answers = [_answers(scope, pair) for pair in pairs]
    return PairBatch(
        scope,
        clean,
        corrupted,
        (tokens[0], other[0]),
        torch.tensor([_answer_position(scope, one) for one in tokens], device=device),
        torch.tensor([right for right, _ in answers], device=device),
        torch.tensor([wrong for _, wrong in answers], device=device),
        tuple(number for number, _ in members),
    )


def _answers(scope: Scope, pair: Pair) -> tuple[int, int]:
    """The right one and the wrong one, −1 where there is none."""
    asked = [pair.answer] if pair.wrong is None else [pair.answer, pair.wrong]
    ids = [token_id(scope, one) for one in asked]
    known = embedded_tokens(scope.model)
    assert known is not None  # as many as its output layer has words
    check_answers(ids, known)
    return ids[0], -1 if pair.wrong is None else ids[1]


def _answer_position(scope: Scope, tokens: Tokens) -> int:
    if "decoder" in scope.kinds:
        return len(tokens) - 1
    masked = (tokens.ids == scope.tokenizer.mask_token_id).nonzero()[0]
    if not len(masked):
        raise BadInput(f"Put {scope.tokenizer.mask_token} where the answer is to come back.")
    return int(masked[0])
