"""Attention to full stops and commas."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class Punctuation(Statistic):
    """Share of attention that goes to full stops and commas.

    Those two signs alone, as in the paper.
    """

    name = "punctuation"
    title = "full stops and commas"
    formula = "Σ_i Σ_(j ∈ {. ,}) α_ij / n"
    paper = "Clark et al. 2019, section 3.2 (figure 2)"
    unit = "share"
    feature = "stops"
