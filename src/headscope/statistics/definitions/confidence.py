"""How sure a head is of one token."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class Confidence(Statistic):
    """Mean over queries of the largest weight, max_j α_ij; the end-of-sentence token asks nothing.

    Voita et al. 2019, section 3: confident heads are the ones worth keeping.
    """

    name = "confidence"
    unit = "share"
    kinds = ("encoder", "decoder", "cross")
    feature = "largest"
    queries = "not_sep"
