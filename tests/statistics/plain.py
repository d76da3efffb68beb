"""Every statistic once more, in plain numpy, from the papers' formulas and `output_attentions`.

Nothing here uses the code under test: maps come from transformers' own eager path, one unpadded
text at a time, and each formula is written out with explicit masks.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headscope.reading.inputs.decoder_text import decoder_batch
from headscope.text.spelling import TokenClass
from headscope.text.tokens import Tokens


@dataclass
class Maps:
    """The attention of one text: α[layer, head, query, key]."""

    alpha: np.ndarray
    query: Tokens
    key: Tokens
    causal: bool

    @property
    def n(self) -> int:
        return self.alpha.shape[-1]

    def of(self, *classes: TokenClass) -> np.ndarray:
        return np.isin(self.key.classes, classes)

    def stops(self) -> np.ndarray:
        return np.array([label in (".", ",") for label in self.key.labels])


def eager_copy(scope: Any) -> Any:
    model = copy.deepcopy(scope.model)
    model.set_attn_implementation("eager")
    return model


def maps_of(scope: Any, model: Any, text: str, pair: str | None) -> dict[str, Maps]:
    """By kind, what transformers itself returns for one text."""
    if scope.encoder_decoder:
        batch = scope.encode([text])
        decoder = decoder_batch(scope.model, scope.tokenizer, [pair or text])
        with torch.no_grad():
            out = model(**batch.inputs, **decoder.inputs, output_attentions=True)
        read, written = batch.tokens[0], decoder.tokens[0]
        return {
            "encoder": Maps(_stack(out.encoder_attentions), read, read, False),
            "decoder": Maps(_stack(out.decoder_attentions), written, written, True),
            "cross": Maps(_stack(out.cross_attentions), written, read, False),
        }
    batch = scope.encode([text], [pair])
    inputs = scope.accepted(batch.inputs)
    with torch.no_grad():
        out = model(**inputs, output_attentions=True)
    tokens = batch.tokens[0]
    kind = "decoder" if scope.causal else "encoder"
    return {kind: Maps(_stack(out.attentions), tokens, tokens, scope.causal)}


def _stack(attentions: tuple[torch.Tensor, ...]) -> np.ndarray:
    return np.stack([layer[0].double().numpy() for layer in attentions])


def mass(m: Maps, keys: np.ndarray, queries: np.ndarray | None = None) -> np.ndarray | None:
    chosen = np.ones(m.alpha.shape[-2], bool) if queries is None else queries
    if not chosen.any():
        return None
    return m.alpha[..., chosen, :][..., keys].sum(-1).mean(-1)


def needs(present: np.ndarray, value: np.ndarray | None) -> np.ndarray | None:
    return value if present.any() else None


def entropy_rows(m: Maps) -> np.ndarray:
    safe = np.where(m.alpha > 0, m.alpha, 1.0)
    return -(m.alpha * np.log(safe)).sum(-1)


def distances(m: Maps) -> np.ndarray:
    return np.abs(np.arange(m.n)[:, None] - np.arange(m.n)[None, :]).astype(float)


def spread(m: Maps) -> np.ndarray:
    d = distances(m)
    mean = (m.alpha * d).sum(-1, keepdims=True)
    return np.sqrt((m.alpha * (d - mean) ** 2).sum(-1)).mean(-1)


def at_offset(m: Maps, step: int) -> np.ndarray | None:
    """Over content tokens with a content token `step` further in their sentence, and a choice."""
    content = m.query.classes >= TokenClass.PUNCTUATION
    weights = []
    for i in range(m.n):
        j = i + step
        seen = content[: i + 1] if m.causal else content
        if not 0 <= j < m.n or not (content[i] and content[j]) or seen.sum() < 2:
            continue
        if m.query.segments[i] == m.query.segments[j] and (step <= 0 or not m.causal):
            weights.append(m.alpha[..., i, j])
    return np.mean(weights, 0) if weights else None


def sink(m: Maps) -> np.ndarray | None:
    """From the fifth token on: before, the first token is hardly a choice."""
    return m.alpha[..., 4:, 0].mean(-1) if m.n > 4 else None


def cross_sentence(m: Maps) -> np.ndarray | None:
    if not (m.query.segments == 1).any():
        return None
    other = m.query.segments[:, None] != m.key.segments[None, :]
    return (m.alpha * other).sum((-1, -2)) / m.n


def uniform(m: Maps) -> np.ndarray:
    level = np.log(np.arange(1, m.n + 1)).mean() if m.causal else np.log(m.n)
    return np.full(m.alpha.shape[:2], level)


CLS, SEP = TokenClass.CLS, TokenClass.SEP


def focus(m: Maps) -> np.ndarray:
    """Over the queries that see two keys or more."""
    n = m.alpha.shape[-2]
    seen = np.arange(1, n + 1) if m.causal else np.full(n, m.alpha.shape[-1])
    asked = seen > 1
    return (1 - entropy_rows(m)[..., asked] / np.log(seen[asked])).mean(-1)


FORMULAS: dict[str, Callable[[Maps], np.ndarray | None]] = {
    "self_word": lambda m: at_offset(m, 0),
    "previous_word": lambda m: at_offset(m, -1),
    "next_word": lambda m: at_offset(m, 1),
    "sink": sink,
    "cls": lambda m: needs(m.of(CLS), mass(m, m.of(CLS))),
    "sep": lambda m: needs(m.of(SEP), mass(m, m.of(SEP))),
    "special_tokens": lambda m: mass(m, m.key.classes < TokenClass.PUNCTUATION),
    "punctuation": lambda m: mass(m, m.stops()),
    "sep_sep": lambda m: mass(m, m.of(SEP), m.query.classes == SEP),
    "rest_sep": lambda m: needs(m.of(SEP), mass(m, m.of(SEP), m.query.classes != SEP)),
    "sink_rate": lambda m: (m.alpha[..., 0].mean(-1) > 0.3).astype(float),
    "entropy": lambda m: entropy_rows(m).mean(-1),
    "focus": lambda m: focus(m),
    "entropy_cls": lambda m: entropy_rows(m)[..., 0],
    "entropy_uniform": uniform,
    "confidence": lambda m: m.alpha.max(-1)[..., m.query.classes != SEP].mean(-1),
    "distance": lambda m: (m.alpha * distances(m)).sum(-1).mean(-1),
    "distance_spread": spread,
    "cross_sentence": cross_sentence,
}
ELSEWHERE = {  # held to their formulas in tests of their own
    "variability", "repeat_previous",
    "gradient_sep", "gradient_punctuation", "gradient_all",
    "norm_all", "norm_cls", "norm_sep", "norm_punctuation", "norm_first",
}  # fmt: skip
