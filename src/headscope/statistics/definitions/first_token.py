"""Attention to the first token."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class FirstToken(Statistic):
    """Share of attention that goes to the first token, whatever it is.

    In decoders this is the attention sink.
    """

    name = "first"
    title = "first token"
    formula = "mean_i α_(i,0)"
    paper = "Xiao et al. 2023; Gu et al. 2024"
    unit = "share"
    feature = "first"
