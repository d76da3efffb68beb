"""How far a head looks."""

from __future__ import annotations

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
