"""What is shown of a head: tokens or words, with or without specials, all or one sentence.

The page follows the same rules: a word's row is the mean over its pieces, its column the sum;
hidden tokens are left out, and rows are scaled to sum to one only on request.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.figures.tokens import TokenLine
from headscope.reading import Part
from headscope.reading.word_level import join_pieces, word_starts, words_of
from headscope.text.tokens import Tokens
from headscope.views.shared.weighting import factor


@dataclass(frozen=True)
class Side:
    """One side's shown tokens or words."""

    line: TokenLine
    starts: NDArray[np.intp]  # the first token of each
    segments: NDArray[np.integer]
    pinned: int | None  # the selected one, among those shown

    def __len__(self) -> int:
        return self.starts.size


@dataclass(frozen=True)
class Selected:
    weights: NDArray[np.float32]  # h t s
    query: Side
    key: Side
    allowed: NDArray[np.bool_] | None  # t s, under the sentence filter; None: all


def select(
    part: Part, layer: int, state: Mapping[str, Any], heads: Sequence[int] | None = None
) -> Selected:
    """The layer's heads (or some of them) under the state's unit, specials and filter."""
    weights = _weights(part, layer, heads) * factor(part, state, layer, heads)
    without_first = state.get("first") == "hidden"
    if without_first:  # of a split first word the other pieces still count
        weights = np.concatenate([np.zeros_like(weights[..., :1]), weights[..., 1:]], axis=-1)
    words = state.get("unit") == "words"
    if words:
        weights = join_pieces(weights, part.query, part.key)
    leaves = without_first and not (words and part.key.continues[1:2].any())
    query, rows = _side(part.query, state, state.get("query"))
    key, columns = _side(part.key, state, state.get("key"), without_first=leaves)
    if rows.size < weights.shape[1] or columns.size < weights.shape[2]:
        weights = weights[:, rows][:, :, columns]
    if state.get("specials") == "renormalised":
        total = weights.sum(axis=-1, keepdims=True)
        weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    pair = state.get("filter", "all")
    allowed = None
    if pair != "all":
        allowed = (query.segments == "ab".index(pair[0]))[:, None] & (
            key.segments == "ab".index(pair[1])
        )
    return Selected(weights, query, key, allowed)


def _weights(part: Part, layer: int, heads: Sequence[int] | None) -> NDArray[np.float32]:
    """The heads' weights; of a long reading only the shown heads are computed."""
    if heads is None:
        return part.weights(layer)
    if not heads:
        return np.zeros((0, len(part.query), len(part.key)), np.float32)
    return np.stack([part.head_weights(layer, head) for head in heads])


def _side(
    tokens: Tokens, state: Mapping[str, Any], token: int | None, *, without_first: bool = False
) -> tuple[Side, NDArray[np.intp]]:
    starts = np.arange(len(tokens))
    if state.get("unit") == "words":
        starts, tokens = np.asarray(word_starts(tokens)), words_of(tokens)
    kept = np.arange(int(without_first), len(tokens))
    if state.get("specials", "shown") != "shown":
        kept = kept[tokens.content[kept]]
    shown = -1 if token is None else int(np.searchsorted(starts, token, side="right")) - 1
    found = np.flatnonzero(kept == shown)
    pinned = int(found[0]) if found.size else None
    side = Side(token_line(tokens, kept), starts[kept], tokens.segments[kept], pinned)
    return side, kept


def token_line(tokens: Tokens, chosen: NDArray[np.intp] | None = None) -> TokenLine:
    at = np.arange(len(tokens)) if chosen is None else chosen
    return TokenLine(
        [tokens.labels[i] for i in at],
        tokens.classes[at].tolist(),
        tokens.segments[at].tolist(),
        tokens.continues[at].tolist(),
    )


def is_right_to_left(tokens: Tokens) -> bool:
    """Whether most letters are Hebrew or Arabic."""
    letters = "".join(tokens.labels)
    count = sum(unicodedata.bidirectional(letter) in ("R", "AL") for letter in letters)
    return count * 2 > len(letters)
