"""How far a head looks."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class Distance(Statistic):
    """Mean distance in tokens between query and key, Σ_j α_ij |i − j|, over all queries.

    Vig & Belinkov 2019, section 5.5, who study decoders, where |i − j| = i − j.
    """

    name = "distance"
    unit = "tokens"
    bounds = (0.0, float("inf"))
    feature = "distance"
