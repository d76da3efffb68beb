"""Features: numbers from one query's row of weights, named so that each is computed once.

A statistic names the features it needs, and every kernel computes each once per call, also if
several statistics share it. There are four kinds:

- `KeyFeature`: Σ_j α_ij x_j, with a number x_j per key (1 for `[SEP]`, 0 elsewhere);
- `ValueFeature`: the same with a number per key and head, computed from the call (value norms);
- `PairFeature`: Σ_j α_ij x_ij, with a number per query and key (1 for the same word), or the
  same sum of squared weights;
- `RowFeature`: any other function of whole rows (entropy, the largest weight).

All features of the first three kinds in use become the columns of one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.errors import BadInput
from headscope.statistics.features.grid import CLS, PUNCTUATION, SEP, SPECIAL, WORD, Grid


@dataclass(frozen=True)
class KeyFeature:
    name: str
    make: Callable[[Grid], Tensor]  # -> b s
    is_share: bool = False  # x_j is 0 or 1, which half precision holds exactly


@dataclass(frozen=True)
class ValueFeature:
    name: str
    make: Callable[[Grid, Call], Tensor]  # -> b h s


@dataclass(frozen=True)
class PairFeature:
    name: str
    make: Callable[[Grid, slice], Tensor]  # (grid, queries) -> b|1 tq s
    squared: bool = False  # Σ_j α_ij² x_ij
    of_distance: int | None = None  # x_ij is |i − j| to this power, 1 or 2
    is_share: bool = False  # x_ij is 0 or 1, a relation of two tokens as a bit


@dataclass(frozen=True)
class RowFeature:
    """With a `width` the feature is a vector per row; `limit` keeps it to the first queries."""

    name: str
    make: Callable[[Tensor, Grid, slice], Tensor]  # (weights b h tq s, …) -> b h tq [width]
    width: int | None = None
    limit: int | None = None


@dataclass(frozen=True)
class RankFeature(RowFeature):
    """A rank correlation of rows with a relation of tokens, in a form that kernels can compute."""

    ranks: Callable[[Grid], tuple[Tensor, Tensor]] | None = None
    """-> the relation's ranks, centred, and the pool they are within, b t s."""


@dataclass(frozen=True)
class EvennessFeature(RowFeature):
    """How uniform rows are on the query's own part of the text, computable by kernels."""

    own: Callable[[Grid, slice], Tensor] | None = None  # -> b tq s bool


Feature = KeyFeature | ValueFeature | PairFeature | RowFeature


def _of_class(token_class: int) -> KeyFeature:
    names = {CLS: "cls", SEP: "sep", SPECIAL: "special", PUNCTUATION: "punctuation", WORD: "word"}
    return KeyFeature(names[token_class], lambda grid: grid.key.classes == token_class, True)


def _first(grid: Grid) -> Tensor:
    positions = torch.arange(grid.key.ids.shape[1], device=grid.key.ids.device)
    return positions == grid.key.start[:, None]


def surprise(weights: Tensor, grid: Grid) -> Tensor:
    """−α ln α of every weight; features of one block share it."""
    kept = grid.memo.get("surprise")
    version = None if weights.is_inference() else weights._version  # counts writes to the tensor
    if kept is None or kept[0] is not weights or kept[1] != version:
        # a weight of 0 has log -inf; the smallest normal number leaves 0 · log finite and exactly 0
        logs = weights.clamp_min(torch.finfo(weights.dtype).tiny).log_()
        kept = grid.memo["surprise"] = (weights, version, logs.mul_(weights).neg_())
    return kept[2]


def tell(grid: Grid, weights: Tensor, **known: Tensor) -> None:
    """Rows (b h tq) of features that were computed together with these weights."""
    grid.memo["told"] = (weights, known)


def _told(grid: Grid, weights: Tensor, name: str) -> Tensor | None:
    of, known = grid.memo.get("told", (None, {}))
    return known.get(name) if of is weights else None


def forget_surprise(grid: Grid) -> None:
    """Free a finished block's two large tensors before the next layer."""
    grid.memo.pop("surprise", None)


def _entropy(weights: Tensor, grid: Grid, queries: slice) -> Tensor:
    known = _told(grid, weights, "entropy")
    return surprise(weights, grid).sum(-1) if known is None else known


def _largest(weights: Tensor, grid: Grid, queries: slice) -> Tensor:
    known = _told(grid, weights, "largest")
    return weights.amax(-1) if known is None else known


def at_offset(weights: Tensor, grid: Grid, queries: slice, offset: int) -> Tensor:
    """b h tq: the weight from each query to the key `offset` tokens after it, or 0."""
    _, _, count, keys = weights.shape
    position = torch.arange(queries.start, queries.start + count, device=weights.device)
    position = position + grid.offset + offset
    first = queries.start + grid.offset + offset
    if first >= 0 and first + count <= keys:  # they lie on one diagonal
        found = weights.diagonal(first, 2, 3)
        return found if grid.all_keys_valid else found * grid.key.valid[:, None, position]
    inside = (position >= 0) & (position < keys)
    position = position.clamp(0, keys - 1)
    found = weights.gather(3, position.view(1, 1, -1, 1).expand(*weights.shape[:2], -1, 1))[..., 0]
    real = inside & grid.key.valid[:, position]  # b tq
    return found * real[:, None]


def _at(name: str, offset: int) -> RowFeature:
    return RowFeature(name, lambda weights, grid, q: at_offset(weights, grid, q, offset))


def positions_of(grid: Grid, queries: slice) -> tuple[Tensor, Tensor]:
    """The positions of the queries (tq 1) and of the keys (1 s), on the keys' axis."""
    device = grid.key.ids.device
    query = torch.arange(queries.start, queries.stop, device=device) + grid.offset
    return query[:, None], torch.arange(grid.key.ids.shape[1], device=device)[None, :]


def _distance(grid: Grid, queries: slice) -> Tensor:
    query, key = positions_of(grid, queries)
    return (query - key).abs().float()[None]


def _distance_squared(grid: Grid, queries: slice) -> Tensor:
    return _distance(grid, queries).square()


def same_token(grid: Grid, queries: slice) -> Tensor:
    """b tq s bool: another occurrence of the query's own token; never a special token."""
    query, key = positions_of(grid, queries)
    same = grid.query.ids[:, queries, None] == grid.key.ids[:, None, :]
    content = (grid.query.classes[:, queries, None] >= PUNCTUATION) & (
        grid.key.classes[:, None, :] >= PUNCTUATION
    )
    return same & content & (query != key)[None]


def other_sentence(grid: Grid, queries: slice) -> Tensor:
    """b tq s bool: the key is in the other sentence of the pair."""
    return grid.query.segments[:, queries, None] != grid.key.segments[:, None, :]


def _same_token_other(grid: Grid, queries: slice) -> Tensor:
    return same_token(grid, queries) & other_sentence(grid, queries)


NAMED: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        RowFeature("entropy", _entropy),
        RowFeature("largest", _largest),
        _at("self", 0),
        _at("previous", -1),
        _at("next", 1),
        KeyFeature("first", _first, True),
        *(_of_class(token_class) for token_class in (CLS, SEP, SPECIAL, PUNCTUATION, WORD)),
        KeyFeature("stops", lambda grid: grid.key.stops, True),
        KeyFeature("sentence_a", lambda grid: grid.key.segments == 0, True),
        KeyFeature("sentence_b", lambda grid: grid.key.segments == 1, True),
        PairFeature("distance", _distance, of_distance=1),
        PairFeature("distance_squared", _distance_squared, of_distance=2),
        PairFeature("same_token", same_token, is_share=True),
        PairFeature("same_token_other", _same_token_other, is_share=True),
    )
}


def resolve(wanted: str | Feature) -> Feature:
    """The feature of that name, or the feature itself."""
    if not isinstance(wanted, str):
        return wanted
    if wanted not in NAMED:
        raise BadInput(f"No feature is called {wanted!r}; there are {', '.join(NAMED)}.")
    return NAMED[wanted]
