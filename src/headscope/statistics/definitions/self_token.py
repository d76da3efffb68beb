"""Attention of a token to itself."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class SelfToken(Statistic):
    """Share of attention that goes to the query's own token: Σ_i α_ii / n.

    All n real tokens count, special ones included (Clark et al. 2019, section 3.1).
    """

    name = "self"
    unit = "share"
    feature = "self"
