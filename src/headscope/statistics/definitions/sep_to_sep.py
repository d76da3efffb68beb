"""Attention from `[SEP]` to `[SEP]`."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class SepToSep(Statistic):
    """Share of the attention of `[SEP]` tokens that goes to `[SEP]` tokens, themselves included."""

    name = "sep_sep"
    title = "separators, from separators"
    formula = "mean over i ∈ [SEP] of Σ_(j ∈ [SEP]) α_ij"
    paper = "Clark et al. 2019, section 3.2"
    of_one_text = False
    needs = "a `[SEP]` or its like"
    unit = "share"
    feature = "sep"
    queries = "sep"
