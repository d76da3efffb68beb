"""Attention to special tokens of any kind."""

from __future__ import annotations

from headscope.statistics.features.feature import KeyFeature
from headscope.statistics.features.grid import PUNCTUATION
from headscope.statistics.statistic import Statistic


class SpecialTokens(Statistic):
    """Share of attention that goes to special tokens such as `[CLS]` and `[SEP]`."""

    name = "special_tokens"
    title = "special tokens"
    formula = "Σ_i Σ_(j special) α_ij / n"
    paper = "Clark et al. 2019, section 3.2"
    standard = False  # `cls` and `sep` say it apart
    unit = "share"
    kinds = ("encoder", "decoder", "cross")
    feature = KeyFeature(
        "any_special", lambda grid: grid.key.valid & (grid.key.classes < PUNCTUATION), True
    )
