"""Attention to full stops and commas."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class Punctuation(Statistic):
    """Share of attention that goes to full stops and commas: Σ_i Σ_(j ∈ {. ,}) α_ij / n.

    Those two signs alone, as in Clark et al. 2019, section 3.2 (their figure 2).
    """

    name = "punctuation"
    unit = "share"
    feature = "stops"
