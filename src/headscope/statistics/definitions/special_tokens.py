"""Attention to special tokens of any kind."""

from __future__ import annotations

from headscope.statistics.features.feature import KeyFeature
from headscope.statistics.features.grid import PUNCTUATION
from headscope.statistics.statistic import Statistic


class SpecialTokens(Statistic):
    """Share of attention that goes to special tokens, where `delimiter` is not defined.

    That pattern is for texts that are read both ways; this is for causal and cross attention.
    """

    name = "special_tokens"
    title = "special tokens"
    formula = "Σ_i Σ_(j special) α_ij / n"
    paper = "Clark et al. 2019, section 3.2"
    standard = False  # `cls` and `sep` say which
    unit = "share"
    kinds = ("decoder", "cross")
    feature = KeyFeature(
        "any_special", lambda grid: grid.key.valid & (grid.key.classes < PUNCTUATION), True
    )
