"""Attention from `[SEP]` to `[SEP]`."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class SepToSep(Statistic):
    """Share of the attention of `[SEP]` tokens that goes to `[SEP]` tokens, themselves included.

    Mean over queries i ∈ [SEP] of Σ_(j ∈ [SEP]) α_ij (Clark et al. 2019, section 3.2).
    """

    name = "sep_sep"
    unit = "share"
    feature = "sep"
    queries = "sep"
