"""Patterns by rank: the rank correlation of attention with a relation between tokens.

Uniform attention has no order and scores 0. Permuting n weights gives a correlation with mean 0 and
variance 1/(n−1) for any weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.patterns.pattern import Pattern, Scores
from headscope.patterns.token_pairs import TokenPairs, blocks_of_pairs, token_pairs_of
from headscope.statistics.features.feature import Feature, RankFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows

LEAST = 4  # fewest keys of a query for a rank correlation
KEPT = 2**22  # most ranks of a block kept from one layer to the next
MOST_KEYS = 2**15  # of a row whose doubled ranks fit 16 bits
INFINITE = np.uint64(0x7F800000 << 32)  # the bits of an infinite weight, in a weight's position
SLACK = 8  # share of keys outside the pool below which sorting them costs little


@dataclass(frozen=True)
class RankPattern(Pattern):
    """Compares attention with `likeness` over the keys of `pool`.

    A scope's embeddings give the likeness; its predictions are slow and measured separately.
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
        return (RankFeature(self.name, self._rows, ranks=self._ranks),)

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
            # a text of one sentence has no other sentence
            asked = bool((pool.sum(2) >= LEAST).any())
            relation = Relation(self.likeness(grid, queries), pool) if asked else None
            if pool.numel() > KEPT:
                return self._correlated(weights, relation)
            grid.memo[key] = relation  # the same for every layer
        return self._correlated(weights, grid.memo[key])

    def _ranks(self, grid: Grid) -> tuple[Tensor, Tensor]:
        assert self.likeness is not None and self.pool is not None
        queries = slice(0, grid.query.ids.shape[1])
        pool = self.pool(token_pairs_of(grid, queries))
        return centred_ranks(self.likeness(grid, queries), pool), pool

    def _correlated(self, weights: Tensor, relation: Relation | None) -> Tensor:
        if relation is None:
            return weights.new_zeros(weights.shape[:3])
        return relation.correlations(weights)


class Relation:
    """The ranks that rows of weights are correlated with, within a pool (b t s), for all layers.

    Ties take the order of their positions, so both sides are the numbers 0 … n−1 in some order and
    ρ = Σ_k k·r(k) / (n (n²−1) / 12), with r(k) the relation's centred rank of the k-th lightest.
    """

    def __init__(self, values: Tensor, pool: Tensor) -> None:
        self._ranks = centred_ranks(values, pool)
        self._pool = pool
        self._count = pool.sum(2)

    def correlations(self, weights: Tensor) -> Tensor:
        """b h t."""
        if weights.is_cuda or weights.requires_grad or weights.shape[3] > MOST_KEYS:
            summed, flat = self._summed(weights)
        else:
            summed, flat = self._summed_in_stretches(weights.detach().float())
        n = self._count.to(summed.dtype)[:, None]  # b 1 t
        most = n * (n * n - 1) / 12
        return torch.where((most > 0) & ~flat, summed / most.clamp_min(1e-30), 0.0)

    def _summed(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """b h t: Σ_k k·r(k), keys outside the pool last; and whether all weights are alike."""
        held = torch.where(self._pool[:, None], weights, torch.inf)
        ordered, order = held.sort(dim=-1, stable=True)
        met = self._ranks[:, None].expand(weights.shape).gather(3, order)
        last = (self._count - 1).clamp_min(0)[:, None, :, None].expand(*weights.shape[:3], 1)
        steps = torch.arange(met.shape[3], dtype=met.dtype, device=met.device)
        return met @ steps, ordered[..., 0] == ordered.gather(3, last)[..., 0]

    def _summed_in_stretches(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The same on a CPU, in float32."""
        summed = np.zeros(weights.shape[:3], dtype=np.float32)
        flat = np.zeros(weights.shape[:3], dtype=np.bool_)
        bits = weights.numpy().view(np.uint32)
        for document, queries, keys, below, last in self._stretches:
            whole = bits[document, :, queries, keys].astype(np.uint64)
            whole <<= np.uint64(32)
            whole |= below
            whole.sort(axis=-1)
            doubled = whole.astype(np.int16).astype(np.float32)  # its lowest bits
            steps = np.arange(doubled.shape[2], dtype=np.float32)
            with np.errstate(invalid="ignore"):  # BLAS raises flags for lanes past the end
                summed[document, :, queries] = doubled @ steps * np.float32(0.5)
            heaviest = whole[:, np.arange(len(last)), last]
            flat[document, :, queries] = whole[..., 0] >> 32 == heaviest >> 32
        return torch.from_numpy(summed), torch.from_numpy(flat)

    @cached_property
    def _stretches(self) -> list[Stretch]:
        """Neighbouring queries of a document whose pools lie within about the same keys.

        A weight is never negative, so its bits sort like its value. With position and rank in the
        lower bits, one plain sort of whole numbers is stable and carries the ranks along. Keys
        outside the pool have the bits of infinity, which sort last.
        """
        doubled = (self._ranks * 2).to(torch.int16).numpy().view(np.uint16)
        pool, count = self._pool.numpy(), self._count.numpy()
        below = np.arange(doubled.shape[2], dtype=np.uint64) << np.uint64(16) | doubled
        below[~pool] |= INFINITE
        return [
            (document, queries, keys, below[document, queries, keys].copy(),
             np.maximum(count[document, queries] - 1, 0))
            for document, of_pool in enumerate(pool)
            for queries, keys in stretches(of_pool)
        ]  # fmt: skip


Stretch = tuple[int, slice, slice, NDArray[np.uint64], NDArray[np.int64]]
"""Document, queries, keys, the bits below their weights, and the position of the heaviest key."""


def stretches(pool: NDArray[np.bool_]) -> Iterator[tuple[slice, slice]]:
    """Blocks of queries and keys of a map (t s) that cover the pool with few extra keys."""
    asking = np.flatnonzero(pool.any(1)).tolist()
    first, stop = pool.argmax(1).tolist(), (pool.shape[1] - pool[:, ::-1].argmax(1)).tolist()
    while asking:
        low, high = first[asking[0]], stop[asking[0]]
        narrowest, taken = high - low, 0
        for query in asking:
            both = min(low, first[query]), max(high, stop[query])
            narrowest = min(narrowest, stop[query] - first[query])
            if both[1] - both[0] > narrowest + pool.shape[1] // SLACK:
                break
            (low, high), taken = both, taken + 1
        yield slice(asking[0], asking[taken - 1] + 1), slice(low, high)
        asking = asking[taken:]


def centred_ranks(values: Tensor, pool: Tensor) -> Tensor:
    """Ranks within the pool, centred, 0 outside it; ties take the order of their positions."""
    order = torch.where(pool, values, torch.inf).argsort(dim=-1, stable=True)
    steps = torch.arange(order.shape[-1], dtype=values.dtype, device=values.device)
    ordered = torch.empty_like(values).scatter_(-1, order, steps.expand_as(order))
    count = pool.sum(-1, keepdim=True)
    return torch.where(pool, ordered - (count - 1) / 2, 0.0)
