"""The text view's shading: attention from or to the selected words.

The page follows the same rules (web/src/views/text/weights.ts): a word's row is the mean over its
pieces, its column their sum; with no word selected all queries are averaged, or, in a long text,
queries spread over it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.reading import LayerAttention, Part
from headscope.text.tokens import Tokens
from headscope.views.shared.weighting import factor

MOST_WEIGHTS = 2**21  # with no word selected, average at most rows with so many weights
NEARBY = 16  # tokens: weights this near to a sampled query are shared between samples
AT_ONCE = 64  # rows computed together from q and k
Side = Literal["query", "key"]


@dataclass(frozen=True)
class Units:
    """One side's tokens or words: each from start up to end."""

    start: NDArray[np.intp]
    end: NDArray[np.intp]

    def __len__(self) -> int:
        return self.start.size

    def holding(self, tokens: Sequence[int | None]) -> list[int]:
        """The units of these tokens, each once, in the given order."""
        found = (
            int(np.searchsorted(self.start, token, side="right")) - 1
            for token in tokens
            if token is not None
        )
        return list(
            dict.fromkeys(
                at
                for at, token in zip(found, [t for t in tokens if t is not None], strict=True)
                if at >= 0 and token < self.end[at]
            )
        )


@dataclass(frozen=True)
class ByHead:
    """The selection's attention from or to every unit of the other side, by head."""

    side: Side
    hand: list[int]
    heads: list[int]
    each: NDArray[np.float64]  # heads × units of the other side
    query: Units
    key: Units
    sampled: int


@dataclass(frozen=True)
class Shading:
    side: Side  # of the selected words
    hand: list[int]  # selected units of that side; none: the mean of queries spread over the text
    weights: NDArray[np.float64]  # one per unit of the other side
    heads: NDArray[np.intp] | None  # if the strongest is shown: its head
    query: Units
    key: Units
    sampled: int


def units_of(tokens: Tokens, state: Mapping[str, Any], *, keys: bool) -> Units:
    hidden = state.get("specials", "shown") != "shown"
    first = 1 if keys and state.get("first") == "hidden" else 0
    kept = [at for at in range(first, len(tokens)) if not hidden or tokens.content[at]]
    words = state.get("unit") == "words"
    starts: list[int] = []
    ends: list[int] = []
    for at in kept:
        if words and ends and ends[-1] == at and tokens.continues[at]:
            ends[-1] = at + 1
        else:
            starts.append(at)
            ends.append(at + 1)
    return Units(np.array(starts, dtype=np.intp), np.array(ends, dtype=np.intp))


def spread(count: int, heads: int, weights: int = MOST_WEIGHTS) -> list[int]:
    taken = min(count, max(8, weights // max(1, count * heads)))
    return [(2 * i + 1) * count // (2 * taken) for i in range(taken)]


def shared(values: NDArray[np.float64], reach: int) -> NDArray[np.float64]:  # h k
    """The mean of each value and those around it; the farthest count half, so that no period of
    `reach` remains."""
    window = np.ones(2 * reach + 1)
    window[[0, -1]] = 0.5

    def around(row: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.convolve(row, window)[reach : reach + row.size]

    return np.stack([around(row) for row in values]) / around(np.ones(values.shape[-1]))


def shade(part: Part, state: Mapping[str, Any]) -> Shading:
    """The shading by all heads that are on."""
    found = by_head(part, state)
    each, rest = found.each, (found.query, found.key, found.sampled)
    if len(found.heads) > 1 and state.get("merge") == "strongest":
        from_head = np.array(found.heads, dtype=np.intp)[each.argmax(axis=0)]
        return Shading(found.side, found.hand, each.max(axis=0), from_head, *rest)
    weights = each.mean(axis=0) if found.heads else np.zeros(each.shape[1])
    return Shading(found.side, found.hand, weights, None, *rest)


def by_head(part: Part, state: Mapping[str, Any]) -> ByHead:
    side: Side = state.get("side", "query")
    query, key = units_of(part.query, state, keys=False), units_of(part.key, state, keys=True)
    own = query if side == "query" else key
    pinned = state.get(side)
    hand = [] if pinned is None else own.holding([pinned, *state.get("also", [])])
    chosen = state.get("heads")
    heads = list(range(part.heads)) if chosen is None else list(chosen)
    if not hand:
        side = "query"
    sampled = 0 if hand else len(spread(len(query), len(heads)))
    looked = hand or spread(len(query), len(heads))
    if side == "query":
        step = 1.0 if hand or not looked else len(query) / len(looked)
        each = _from_queries(part, state, heads, query, key, looked, step)
    else:
        each = _to_keys(part, state, heads, query, key, looked)
    if not (hand and state.get("combine") == "sum"):
        each = each / len(looked) if looked else each
    return ByHead(side, hand, heads, each, query, key, sampled)


def rows_of(
    layer: LayerAttention, heads: Sequence[int], queries: NDArray[np.intp]
) -> NDArray[np.float64]:  # h r s
    """The weights of some queries, without whole maps if a reading kept only q and k."""
    if not heads:
        return np.zeros((0, queries.size, layer.shape[2]))
    each = [layer.head_weights(slice(head, head + 1), queries)[0] for head in heads]
    return np.stack(each).astype(np.float64)


def _from_queries(
    part: Part,
    state: Mapping[str, Any],
    heads: Sequence[int],
    query: Units,
    key: Units,
    looked: Sequence[int],
    step: float,
) -> NDArray[np.float64]:  # h k
    """`step`: from one query to the next. Nearby weights are shared among the words between, or a
    head that attends to neighbours would shade every step-th word."""
    total, near = np.zeros((2, len(heads), len(key)))
    reach = max(NEARBY, 4 * step) if step > 1 and part.kind != "cross" else -1
    for at in looked:
        tokens = np.arange(query.start[at], query.end[at])
        rows = rows_of(part.layer(state["layer"]), heads, tokens)
        rows = rows * factor(part, state, state["layer"], heads)
        row = _kept(part, state, _joined(rows, key).mean(axis=1)[:, None], query, key, [at])[:, 0]
        close = np.abs(key.start - query.start[at]) <= reach
        near += row * close
        total += row * ~close
    return total if reach < 0 else total + shared(near, math.ceil(step))


def _to_keys(
    part: Part,
    state: Mapping[str, Any],
    heads: Sequence[int],
    query: Units,
    key: Units,
    looked: Sequence[int],
) -> NDArray[np.float64]:  # h q
    total = np.zeros((len(heads), len(query)))
    layer = part.layer(state["layer"])
    for low in range(0, len(query), AT_ONCE):
        units = list(range(low, min(low + AT_ONCE, len(query))))
        tokens = np.concatenate([np.arange(query.start[at], query.end[at]) for at in units])
        rows = rows_of(layer, heads, tokens) * factor(part, state, state["layer"], heads)
        rows = _joined(rows, key)
        sizes = query.end[units] - query.start[units]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        mean = np.add.reduceat(rows, starts, axis=1) / sizes[:, None]
        total[:, units] = _kept(part, state, mean, query, key, units)[:, :, looked].sum(axis=-1)
    return total


def _joined(rows: NDArray[np.float64], key: Units) -> NDArray[np.float64]:  # h r s -> h r k
    summed = np.concatenate([np.zeros((*rows.shape[:2], 1)), rows.cumsum(axis=-1)], axis=-1)
    return summed[..., key.end] - summed[..., key.start]


def _kept(
    part: Part,
    state: Mapping[str, Any],
    rows: NDArray[np.float64],  # h r k
    query: Units,
    key: Units,
    which: Sequence[int],
) -> NDArray[np.float64]:
    """Rows scaled to sum to one if requested, within the requested sentences."""
    if state.get("specials") == "renormalised":
        whole = rows.sum(axis=-1, keepdims=True)
        rows = np.divide(rows, whole, out=np.zeros_like(rows), where=whole > 0)
    pair = state.get("filter", "all")
    if pair == "all":
        return rows
    looks = part.query.segments[query.start[list(which)]] == "ab".index(pair[0])
    seen = part.key.segments[key.start] == "ab".index(pair[1])
    return rows * (looks[:, None] & seen[None, :])
