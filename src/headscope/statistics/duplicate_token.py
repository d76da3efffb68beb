"""Heads that look for the same token earlier in the text."""

from __future__ import annotations

from torch import Tensor

from headscope.statistics.feature import Feature, PairFeature
from headscope.statistics.grid import Grid
from headscope.statistics.repeats import earlier_copy, has_copy
from headscope.statistics.rows import Rows
from headscope.statistics.statistic import Statistic

PAIRS = PairFeature("duplicate_token", lambda grid, queries: earlier_copy(grid, queries, shift=0))


class DuplicateToken(Statistic):
    """On repeated random tokens, attention to an earlier copy of the query's token.

    Wang et al. 2022: duplicate-token heads; a query with several earlier copies may look at any.
    Mean over the queries of the second and later copies of 25 random tokens, 4 times over, after
    a begin-of-text token.
    """

    name = "duplicate_token"
    unit = "share"
    kinds = ("decoder",)
    source = "repeats"
    standard = False

    def features(self) -> tuple[str | Feature, ...]:
        return (PAIRS,)

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return rows.mean(PAIRS.name, queries=has_copy(grid))
