"""Patterns that are an order: the rank correlation of attention with a relation of tokens.

Uniform attention has no order and scores 0. Dealing n weights out again gives a correlation
with mean 0 and variance 1/(n−1), whatever the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from headscope.patterns.pattern import Pattern, Scores
from headscope.patterns.token_pairs import TokenPairs, blocks_of_pairs
from headscope.statistics.features.feature import Feature, RowFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows

LEAST = 4  # keys a query must choose from for a rank correlation to say anything


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
        assert self.likeness is not None and self.pool is not None
        return spearman(weights, self.likeness(grid, queries), self.pool(TokenPairs(grid, queries)))


def spearman(weights: Tensor, relation: Tensor, pool: Tensor) -> Tensor:
    """Rank correlation over the pool of rows of weights (b h t s) and relation (b t s); b h t."""
    keys = pool[:, None]
    of_weights = _ranks(weights, keys)
    of_relation = _ranks(relation[:, None], keys)
    top = (of_weights * of_relation).sum(-1)
    bottom = of_weights.square().sum(-1) * of_relation.square().sum(-1)
    found = top / bottom.sqrt()
    held = torch.where(keys, weights, weights.new_tensor(torch.nan))
    flat = torch.nan_to_num(held, -torch.inf).amax(-1) - torch.nan_to_num(held, torch.inf).amin(-1)
    return torch.where((bottom > 0) & (flat > 0), found, 0.0)


def _ranks(values: Tensor, keys: Tensor) -> Tensor:
    """Ranks within the pool, centred, 0 outside it; ties take the order of their places."""
    order = torch.where(keys, values, torch.inf).argsort(dim=-1, stable=True)
    places = torch.arange(order.shape[-1], dtype=values.dtype, device=values.device)
    ordered = torch.empty_like(values).scatter_(-1, order, places.expand_as(order))
    count = keys.sum(-1, keepdim=True)
    return torch.where(keys, ordered - (count - 1) / 2, 0.0)
