"""Attention to the first token."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class FirstToken(Statistic):
    """Share of attention that goes to the first token, whatever it is: mean_i α_(i,0).

    In decoders this is the attention sink (Xiao et al. 2023; Gu et al. 2024).
    """

    name = "first"
    unit = "share"
    feature = "first"
