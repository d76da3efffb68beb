"""Patterns that are a mass: attention on target keys, averaged over queries that have one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import torch
from torch import Tensor

from headscope.patterns.pattern import Pattern, Scores
from headscope.patterns.token_pairs import TokenPairs, blocks_of_pairs, token_pairs_of, visible_keys
from headscope.statistics.features.feature import Feature, PairFeature, resolve
from headscope.statistics.features.grid import PUNCTUATION, Grid
from headscope.statistics.features.rows import Rows

Relation = Callable[[TokenPairs], Tensor]  # -> b tq s bool
Counts = tuple[Tensor, Tensor]  # b t each: how many targets and how many pool keys a query has


@dataclass(frozen=True)
class MassPattern(Pattern):
    """`targets` are the keys the pattern points at, out of the keys of `pool`.

    If a query has at most one target and a row feature holds its weight, `feature` names the
    feature and `counts` counts without pairs: then a score is as fast as a statistic.
    """

    targets: Relation | None = None
    pool: Relation | None = None
    feature: str | None = None
    counts: Callable[[Grid], Counts] | None = None

    formula: ClassVar[str] = "mean over queries with a target of Σ_(j ∈ targets) α_ij"

    def features(self) -> tuple[Feature, ...]:
        return (self._targets(), *pool_features(self._pool()))

    def score_features(self) -> tuple[Feature, ...]:
        return (self._targets(),)

    def row_scores(self, rows: Rows, grid: Grid) -> Tensor:
        aimed, choice, _ = self._counts_of(rows, grid)
        asked = (aimed > 0) & (aimed < choice)
        return rows[self._targets().name].masked_fill(~asked[:, None], torch.nan)

    def scores(self, rows: Rows, grid: Grid) -> Scores:
        mass, squares = pool_features(self._pool())
        aimed, choice, seen = self._counts_of(rows, grid)
        asked = (aimed > 0) & (aimed < choice)  # b t: there is a target and an alternative
        count = asked.sum(1).double()
        share = torch.where(asked, aimed / choice.clamp(min=1), 0.0)
        # drawing `aimed` of `choice` weights without replacement: the variance of their sum is
        # aimed·(choice−aimed)/choice/(choice−1) × their spread about the mean
        factor = torch.where(asked, share * (choice - aimed) / (choice - 1).clamp(min=1), 0.0)
        n = count[:, None]  # 0 / 0 gives NaN for an undefined document
        score = (rows[self._targets().name].double() * asked[:, None]).sum(2) / n
        uniform = torch.where(asked, aimed / seen.clamp(min=1), 0.0).sum(1, keepdim=True) / n
        uniform = uniform.expand(score.shape)
        null = variance = torch.full_like(score, torch.nan)
        if mass.name not in rows:
            return Scores(score, uniform, null, variance)
        in_pool = rows.once((mass.name, "exact"), lambda: rows[mass.name].double())
        if squares.name in rows:
            spread = rows.once(
                (squares.name, "spread"),
                lambda: (
                    rows[squares.name].double() - in_pool**2 / choice.clamp(min=1)[:, None]
                ).clamp(0),
            )
            variance = (spread * factor[:, None]).sum(2) / n**2
        null = (in_pool * share[:, None]).sum(2) / n
        return Scores(score, uniform, null, variance)

    def rows_and_keys(self, grid: Grid) -> tuple[Tensor, Tensor]:
        """Targets and pool of a whole grid, b t s."""
        pairs = TokenPairs(grid, slice(0, grid.query.ids.shape[1]))
        pool = self._pool()(pairs)
        return self.aim(pairs) & pool, pool

    def _counts_of(self, rows: Rows, grid: Grid) -> tuple[Tensor, Tensor, Tensor]:
        if self.counts is not None:
            made = rows.once((self.name, "counts"), partial(self.counts, grid))
            return *made, rows.once("seen", lambda: visible_keys(grid).double())
        aimed, pool = self._targets().name, pool_features(self._pool())[0].name
        if {aimed, pool} <= rows.counts.keys():
            seen = rows.once("seen", lambda: visible_keys(grid).double())
            return rows.counts[aimed], rows.counts[pool], seen
        return rows.once((self.name, "counts"), lambda: self._counts(rows, grid))

    def _counts(self, rows: Rows, grid: Grid) -> tuple[Tensor, Tensor, Tensor]:
        """How many targets, pool keys and visible keys each query has, b t float64."""

        def counted(held: Relation) -> Tensor:
            return torch.cat([held(s).sum(2) for s in blocks_of_pairs(grid)], dim=1).double()

        pool = self._pool()
        choice = rows.once((pool_features(pool)[0].name, "keys"), lambda: counted(pool))
        seen = rows.once(("visible", "keys"), lambda: counted(lambda pairs: pairs.visible))
        return counted(self.aim), choice, seen

    def _targets(self) -> Feature:
        if self.feature is not None:
            return resolve(self.feature)
        return PairFeature(
            f"{self.name}:targets",
            lambda g, q: self.aim(token_pairs_of(g, q)).float(),
            is_share=True,
        )

    def aim(self, pairs: TokenPairs) -> Tensor:
        """b tq s bool: the targets of some queries."""
        assert self.targets is not None
        return self.targets(pairs) & self._pool()(pairs)

    def pool_of(self, pairs: TokenPairs) -> Tensor:
        """b tq s bool: the keys that some queries choose from."""
        return self._pool()(pairs)

    def _pool(self) -> Relation:
        assert self.pool is not None
        return self.pool


@lru_cache
def pool_features(pool: Relation) -> tuple[PairFeature, PairFeature]:
    """Σ α and Σ α² over a pool; patterns that share a pool share these."""
    name = f"{pool.__module__}.{pool.__qualname__}"

    def held(grid: Grid, queries: slice) -> Tensor:
        return pool(token_pairs_of(grid, queries)).float()

    return (
        PairFeature(f"{name}:mass", held, is_share=True),
        PairFeature(f"{name}:squares", held, squared=True, is_share=True),
    )


def counts_at_offset(grid: Grid, offset: int) -> Counts:
    """One target per query, `offset` tokens after it in its own sentence, among content tokens."""
    length = grid.key.ids.shape[1]
    query = torch.arange(grid.query.ids.shape[1], device=grid.key.ids.device) + grid.offset
    target = (query + offset).clamp(0, length - 1)
    there = (query + offset >= 0) & (query + offset < length) & (offset <= 0 or not grid.causal)
    key_content = grid.key.classes >= PUNCTUATION
    asking = grid.query.classes >= PUNCTUATION
    same = grid.query.segments == grid.key.segments[:, target]
    aimed = asking & there & key_content[:, target] & same
    before = key_content.cumsum(1)
    choice = (before[:, query] if grid.causal else before[:, -1:]) * asking
    return aimed.double(), choice.double()
