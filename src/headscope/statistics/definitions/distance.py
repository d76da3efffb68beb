"""How far a head looks."""

from __future__ import annotations

from torch import Tensor

from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic


class Distance(Statistic):
    """Tokens between query and key, on average.

    They study decoders, where |i − j| = i − j.
    """

    name = "distance"
    title = "distance"
    formula = "mean_i Σ_j α_ij |i − j|"
    paper = "Vig & Belinkov 2019, section 5.5"
    unit = "tokens"
    bounds = (0.0, float("inf"))
    feature = "distance"


class DistanceSpread(Statistic):
    """Standard deviation of the distance |i − j| within a row, mean over all queries.

    0 for a head that always looks equally far, large for one that looks near and far at once.
    """

    name = "distance_spread"
    title = "spread of the distance"
    formula = "mean_i √(Σ_j α_ij |i − j|² − (Σ_j α_ij |i − j|)²)"
    paper = "beside Vig & Belinkov 2019, section 5.5"
    of_one_text = False
    standard = False  # needs a second sum per pair, which a GPU feels
    unit = "tokens"
    bounds = (0.0, float("inf"))

    def features(self) -> tuple[str | Feature, ...]:
        return ("distance", "distance_squared")

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        # rounding may leave a row of no spread a little below zero
        spread = (rows["distance_squared"] - rows["distance"].square()).clamp_min(0).sqrt()
        return rows.mean_of(spread)
