"""How sure a head is of one token."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class Confidence(Statistic):
    """The largest weight of a query, on average; the end-of-sentence token asks nothing.

    Confident heads are the ones worth keeping.
    """

    name = "confidence"
    title = "confidence"
    formula = "mean over i ∉ [SEP] of max_j α_ij"
    paper = "Voita et al. 2019, section 3"
    unit = "share"
    kinds = ("encoder", "decoder", "cross")
    feature = "largest"
    queries = "not_sep"
