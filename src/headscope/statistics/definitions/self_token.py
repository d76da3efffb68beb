"""Attention of a token to itself."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class SelfToken(Statistic):
    """Share of attention that a token pays to itself.

    All n real tokens count, special ones included.
    """

    name = "self"
    title = "token itself"
    formula = "Σ_i α_ii / n"
    paper = "Clark et al. 2019, section 3.1"
    unit = "share"
    feature = "self"
