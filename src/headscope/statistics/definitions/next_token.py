"""Attention to the token after."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class NextToken(Statistic):
    """Share of attention that goes to the token after the query.

    All n real tokens count, special ones and the last included. Undefined for causal attention,
    which cannot look ahead.
    """

    name = "next"
    title = "next token"
    formula = "Σ_i α_(i,i+1) / n"
    paper = "Clark et al. 2019, section 3.1"
    unit = "share"
    feature = "next"
    both_directions = True
