"""Attention to the token before."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class PreviousToken(Statistic):
    """Share of attention that goes to the token before the query: Σ_i α_(i,i−1) / n.

    All n real tokens count, special ones and the first included (Clark et al. 2019, section 3.1).
    """

    name = "previous"
    unit = "share"
    feature = "previous"
