"""Attention to the token before."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class PreviousToken(Statistic):
    """Share of attention that goes to the token before the query.

    All n real tokens count, special ones and the first included.
    """

    name = "previous"
    title = "previous token"
    formula = "Σ_i α_(i,i−1) / n"
    paper = "Clark et al. 2019, section 3.1"
    unit = "share"
    feature = "previous"
