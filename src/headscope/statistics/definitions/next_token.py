"""Attention to the token after."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class NextToken(Statistic):
    """Share of attention that goes to the token after the query: Σ_i α_(i,i+1) / n.

    All n real tokens count, special ones and the last included (Clark et al. 2019, section 3.1).
    Undefined for causal attention, which cannot look ahead.
    """

    name = "next"
    unit = "share"
    feature = "next"
    both_directions = True
