"""What is shown of a head: words for tokens, specials left out, one sentence at a time.

The page follows the same rules: a word's row is the mean over its pieces, its column the sum; what
is hidden is left out, and rows are made to sum to one again only when asked for.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.figures.tokens import TokenLine
from headscope.reading import Part
from headscope.reading.word_level import join_pieces, word_starts, words_of
from headscope.text.tokens import Tokens


@dataclass(frozen=True)
class Shown:
    weights: NDArray[np.float32]  # h t s
    query: TokenLine
    key: TokenLine
    pinned: int | None  # the query in hand, among those shown


def shown(part: Part, layer: int, state: Mapping[str, Any]) -> Shown:
    """The layer's heads under the state's unit, specials and filter."""
    weights, query, key = part.weights(layer), part.query, part.key
    without_first = state.get("first") == "hidden"
    if without_first:  # of a split first word the other pieces still count
        weights = np.concatenate([np.zeros_like(weights[..., :1]), weights[..., 1:]], axis=-1)
    pinned = state.get("query")
    if state.get("unit") == "words":
        weights = join_pieces(weights, query, key)
        if pinned is not None:
            pinned = int(np.searchsorted(word_starts(query), pinned, side="right")) - 1
        query, key = words_of(query), words_of(key)
    rows, columns = np.arange(len(query)), np.arange(len(key))
    if without_first and not (state.get("unit") == "words" and part.key.continues[1:2].any()):
        columns = columns[1:]
    if state.get("specials", "shown") != "shown":
        rows, columns = rows[query.content], columns[key.content[columns]]
    if len(rows) < len(query) or len(columns) < len(key):
        weights = weights[:, rows][:, :, columns]
    if state.get("specials") == "renormalised":
        total = weights.sum(axis=-1, keepdims=True)
        weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    pair = state.get("filter", "all")
    if pair != "all":
        allowed = (query.segments[rows] == "ab".index(pair[0]))[:, None] & (
            key.segments[columns] == "ab".index(pair[1])
        )
        weights = weights * allowed
    place = {int(token): at for at, token in enumerate(rows)}
    return Shown(weights, token_line(query, rows), token_line(key, columns), place.get(pinned))  # pyright: ignore[reportArgumentType]


def token_line(tokens: Tokens, chosen: NDArray[np.intp] | None = None) -> TokenLine:
    at = np.arange(len(tokens)) if chosen is None else chosen
    return TokenLine(
        [tokens.labels[i] for i in at],
        tokens.classes[at].tolist(),
        tokens.segments[at].tolist(),
        tokens.continues[at].tolist(),
    )


def is_right_to_left(tokens: Tokens) -> bool:
    """Most letters are Hebrew or Arabic."""
    letters = "".join(tokens.labels)
    count = sum(unicodedata.bidirectional(letter) in ("R", "AL") for letter in letters)
    return count * 2 > len(letters)
