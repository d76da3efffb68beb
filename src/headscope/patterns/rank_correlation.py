"""Patterns that are an order: the rank correlation of attention with a relation of tokens.

Uniform attention has no order and scores 0. Dealing n weights out again gives a correlation
with mean 0 and variance 1/(n−1), whatever the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from headscope.patterns.pattern import Pattern, Scores
from headscope.patterns.token_pairs import TokenPairs, blocks_of_pairs
from headscope.statistics.features.feature import Feature, RowFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows

LEAST = 4  # keys a query must choose from for a rank correlation to say anything
KEPT = 2**22  # ranks of a block that are kept from one layer to the next


@dataclass(frozen=True)
class RankPattern(Pattern):
    """What attention is compared with (`likeness`), and the `pool` of keys it is compared over.

    A scope's embeddings give the likeness; its predictions are costly and measured apart.
    """

    follows: Literal["embeddings", "predictions"] = "embeddings"
    likeness: Callable[[Grid, slice], Tensor] | None = None  # -> b tq s
    pool: Callable[[TokenPairs], Tensor] | None = None  # -> b tq s bool

    unit: ClassVar[str] = "rank correlation"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    formula: ClassVar[str] = (
        "mean over queries of Spearman's ρ of α_i and the relation, over the pool"
    )

    @property
    def needs_likeness(self) -> bool:
        return self.likeness is None

    def comparing(self, likeness: Callable[[Grid, slice], Tensor]) -> RankPattern:
        """The same pattern with a likeness to compare attention with."""
        return replace(self, likeness=likeness)

    def features(self) -> tuple[Feature, ...]:
        return (RowFeature(self.name, self._rows),)

    def row_scores(self, rows: Rows, grid: Grid) -> Tensor:
        assert self.pool is not None
        choice = torch.cat([self.pool(pairs).sum(2) for pairs in blocks_of_pairs(grid)], dim=1)
        return rows[self.name].masked_fill((choice < LEAST)[:, None], torch.nan)

    def scores(self, rows: Rows, grid: Grid) -> Scores:
        assert self.pool is not None
        choice = torch.cat([self.pool(pairs).sum(2) for pairs in blocks_of_pairs(grid)], dim=1)
        asked = choice >= LEAST
        n = asked.sum(1)[:, None].double()
        score = (rows[self.name].double() * asked[:, None]).sum(2) / n
        zero = torch.zeros_like(score) / torch.where(n > 0, 1.0, 0.0)
        variance = torch.where(asked, 1 / (choice - 1).clamp(min=1), 0.0).sum(1, keepdim=True)
        return Scores(score, zero, zero, (variance / n**2).expand(score.shape))

    def _rows(self, weights: Tensor, grid: Grid, queries: slice) -> Tensor:
        key = (self.name, queries.start, queries.stop)
        if key not in grid.memo:
            assert self.likeness is not None and self.pool is not None
            pool = self.pool(TokenPairs(grid, queries))
            # a text of one sentence has no other sentence: nothing is ranked for nobody
            asked = bool((pool.sum(2) >= LEAST).any())
            ranks = centred_ranks(self.likeness(grid, queries), pool) if asked else None
            if pool.numel() > KEPT:
                return self._correlated(weights, ranks, pool)
            grid.memo[key] = ranks, pool  # the same for every layer
        return self._correlated(weights, *grid.memo[key])

    def _correlated(self, weights: Tensor, ranks: Tensor | None, pool: Tensor) -> Tensor:
        if ranks is None:
            return weights.new_zeros(weights.shape[:3])
        return correlations(weights, ranks, pool)


def spearman(weights: Tensor, relation: Tensor, pool: Tensor) -> Tensor:
    """Rank correlation over the pool of rows of weights (b h t s) and relation (b t s); b h t."""
    return correlations(weights, centred_ranks(relation, pool), pool)


def correlations(weights: Tensor, ranks: Tensor, pool: Tensor) -> Tensor:
    """The same with the relation's ranks within the pool, centred and 0 outside it (b t s).

    Ties take the order of their places, so both sides are the numbers 0 … n−1 in some order and
    ρ = Σ_k k·r(k) / (n (n²−1) / 12), with r(k) the relation's centred rank of the k-th lightest.
    """
    order, flat = _in_order(weights, pool)
    met = ranks[:, None].expand(weights.shape).gather(3, order)
    places = torch.arange(order.shape[3], dtype=met.dtype, device=met.device)
    n = pool.sum(2).to(met.dtype)[:, None]  # b 1 t
    most = n * (n * n - 1) / 12
    return torch.where((most > 0) & ~flat, met @ places / most.clamp_min(1e-30), 0.0)


def _in_order(weights: Tensor, pool: Tensor) -> tuple[Tensor, Tensor]:
    """b h t s: the keys from the lightest on, those outside the pool last; b h t: all alike."""
    held = torch.where(pool[:, None], weights, torch.inf)
    last = (pool.sum(2) - 1).clamp_min(0)[:, None, :, None].expand(*weights.shape[:3], 1)
    if weights.is_cuda or weights.requires_grad:
        ordered, order = held.sort(dim=-1, stable=True)
        return order, ordered[..., 0] == ordered.gather(3, last)[..., 0]
    # the bits of a weight, which is never negative, are in its order; with its place below them
    # one plain sort is stable, and takes a third of the time of an argsort
    bits = held.float().contiguous().numpy().view(np.uint32).astype(np.int64) << 32
    bits |= np.arange(weights.shape[3])
    bits.sort(axis=-1)
    ordered = torch.from_numpy(bits)
    flat = ordered[..., 0] >> 32 == ordered.gather(3, last)[..., 0] >> 32
    return ordered & 0xFFFFFFFF, flat


def centred_ranks(values: Tensor, pool: Tensor) -> Tensor:
    """Ranks within the pool, centred, 0 outside it; ties take the order of their places."""
    order = torch.where(pool, values, torch.inf).argsort(dim=-1, stable=True)
    places = torch.arange(order.shape[-1], dtype=values.dtype, device=values.device)
    ordered = torch.empty_like(values).scatter_(-1, order, places.expand_as(order))
    count = pool.sum(-1, keepdim=True)
    return torch.where(pool, ordered - (count - 1) / 2, 0.0)
