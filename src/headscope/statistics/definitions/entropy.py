"""How widely a head spreads its attention."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class Entropy(Statistic):
    """How widely the head spreads its attention: the mean entropy of its rows.

    They smooth α by 0.0001 before taking the logarithm, which adds at most 0.002 nats; here 0 · ln
    0 is 0 and nothing is smoothed. Compare with `entropy_uniform`, the entropy of attending to
    everything alike.
    """

    name = "entropy"
    title = "entropy"
    formula = "mean_i −Σ_j α_ij ln α_ij"
    paper = "Clark et al. 2019, section 3.3 (figure 4)"
    unit = "nats"
    bounds = (0.0, float("inf"))
    kinds = ("encoder", "decoder", "cross")
    feature = "entropy"
