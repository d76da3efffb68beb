"""What the statistics of repeated random tokens share."""

from __future__ import annotations

from torch import Tensor

from headscope.statistics.features.grid import Grid
from headscope.statistics.features.repeats import has_copy
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic


class OnRepeats(Statistic):
    """The mean of a feature over the queries of the second and later copies."""

    unit = "share"
    kinds = ("decoder",)
    source = "repeats"
    standard = False

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        assert self.feature is not None
        name = self.feature if isinstance(self.feature, str) else self.feature.name
        return rows.mean(name, queries=has_copy(grid))
