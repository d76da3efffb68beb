"""From tokens to words, as in Clark et al. (2019).

Attention to a split word is the sum over its pieces, attention from it the mean over them, so
rows still sum to one. Their released code takes the first piece instead: `mode="first"`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import BadInput
from headscope.reading.part import Part
from headscope.reading.weights.held import Made
from headscope.reading.weights.layer import LayerAttention
from headscope.text.spelling import TokenClass
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.reading import Reading


def word_level(reading: Reading, mode: Literal["mean", "first"] = "mean") -> Reading:
    if mode not in ("mean", "first"):
        raise BadInput(f"A word's row is the 'mean' or the 'first' of its pieces, not {mode!r}.")
    parts = {kind: _part(part, mode) for kind, part in reading.parts.items()}
    return dataclasses.replace(reading, parts=parts)


def word_starts(tokens: Tokens) -> NDArray[np.intp]:
    """The first token of every word; a special token is a word of one piece."""
    return np.flatnonzero(~tokens.continues)


def words_of(tokens: Tokens) -> Tokens:
    """The words as tokens of their own, labelled as the text spells them."""
    starts = word_starts(tokens)
    ends = np.append(starts[1:], len(tokens))
    labels = tuple(_label(tokens, int(a), int(b)) for a, b in zip(starts, ends, strict=True))
    spans = tokens.spans[starts].copy()
    spans[:, 1] = tokens.spans[ends - 1, 1]
    classes = tokens.classes[starts].copy()
    whole = np.maximum.reduceat(tokens.classes, starts)
    classes[whole == TokenClass.WORD] = TokenClass.WORD
    return Tokens(
        spellings=labels,
        labels=labels,
        ids=_ids(tokens, labels, starts, ends),
        classes=classes,
        segments=tokens.segments[starts],
        word_ids=tokens.word_ids[starts],
        spans=spans,
        texts=tokens.texts,
        word_texts=tokens.word_texts,
    )


def join_pieces(
    weights: NDArray[np.float32],
    query: Tokens,
    key: Tokens,
    mode: Literal["mean", "first"] = "mean",
) -> NDArray[np.float32]:
    """h t s over tokens → h t' s' over words."""
    rows, columns = word_starts(query), word_starts(key)
    summed = np.add.reduceat(weights, columns, axis=-1)
    if mode == "first":
        return summed[..., rows, :]
    sizes = np.diff(np.append(rows, len(query)))
    mean = np.add.reduceat(summed, rows, axis=-2) / sizes[:, None]
    return mean.astype(np.float32)


def _part(part: Part, mode: Literal["mean", "first"]) -> Part:
    query, key = words_of(part.query), words_of(part.key)

    def joined(one: LayerAttention) -> Made:
        """The words' maps of a layer, computed on use."""

        def make(heads: slice) -> Tensor:
            return torch.from_numpy(
                join_pieces(one.head_weights(heads), part.query, part.key, mode)
            )

        return Made((one.shape[0], len(query), len(key)), make)

    return Part(
        kind=part.kind,
        query=query,
        key=key,
        layers=tuple(LayerAttention(one.layer, joined(one)) for one in part.layers),
        causal=part.causal,
        why_no_qk="Queries and keys belong to tokens; show tokens instead of words to see them.",
    )


def _ids(
    tokens: Tokens, labels: tuple[str, ...], starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> NDArray[np.int64]:
    """A word of one token has its id; one of several has a number for its spelling."""
    return np.where(ends - starts == 1, tokens.ids[starts], Tokens.plain(labels).ids)


def _covered(tokens: Tokens, start: int, end: int) -> str:
    """The text that tokens cover; one token (`...`, `--`) may cover several words."""
    of_sentence = int(tokens.segments[start])
    first, last = int(tokens.spans[start, 0]), int(tokens.spans[end - 1, 1])
    return tokens.texts[of_sentence][first:last] if of_sentence < len(tokens.texts) else ""


def _label(tokens: Tokens, start: int, end: int) -> str:
    if end - start == 1 and tokens.classes[start] < TokenClass.PUNCTUATION:
        return tokens.labels[start]
    number = tokens.word_ids[start]
    if 0 <= number < len(tokens.word_texts):
        word = tokens.word_texts[number]
        covered = _covered(tokens, start, end)
        return covered if len(covered) > len(word) else word
    pieces = [
        tokens.labels[start],
        *(label.removeprefix("##") for label in tokens.labels[start + 1 : end]),
    ]
    return "".join(pieces)
