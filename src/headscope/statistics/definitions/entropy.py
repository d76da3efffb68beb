"""How widely a head spreads its attention."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class Entropy(Statistic):
    """Mean entropy of the rows, −Σ_j α_ij ln α_ij, over all queries of a document.

    Clark et al. 2019, section 3.3 (their figure 4). They smooth α by 0.0001 before taking the
    logarithm, which adds at most 0.002 nats; here 0 · ln 0 is 0 and nothing is smoothed. Compare
    with `entropy_uniform`, the entropy of attending to everything alike.
    """

    name = "entropy"
    unit = "nats"
    bounds = (0.0, float("inf"))
    kinds = ("encoder", "decoder", "cross")
    feature = "entropy"
