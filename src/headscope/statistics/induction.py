"""Heads that look for what came next last time."""

from __future__ import annotations

from torch import Tensor

from headscope.statistics.feature import Feature, PairFeature
from headscope.statistics.grid import Grid
from headscope.statistics.repeats import earlier_copy, has_copy
from headscope.statistics.rows import Rows
from headscope.statistics.statistic import Statistic

PAIRS = PairFeature("induction", lambda grid, queries: earlier_copy(grid, queries, shift=1))


class Induction(Statistic):
    """On repeated random tokens, attention to the token after an earlier copy of the query's token.

    Olsson et al. 2022: an induction head finds what followed the current token before. A query with
    several earlier copies may look at any of them. Mean over the queries of the second and later
    copies of 25 random tokens, 4 times over, after a begin-of-text token.
    """

    name = "induction"
    unit = "share"
    kinds = ("decoder",)
    source = "repeats"
    standard = False

    def features(self) -> tuple[str | Feature, ...]:
        return (PAIRS,)

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return rows.mean(PAIRS.name, queries=has_copy(grid))
