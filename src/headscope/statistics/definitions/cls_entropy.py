"""How widely `[CLS]` spreads its attention."""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class ClsEntropy(Statistic):
    """Entropy of the row of `[CLS]`: how widely it gathers.

    In the last layer `[CLS]` gathers from the whole text. Undefined for causal attention, whose
    first token sees itself alone.
    """

    name = "entropy_cls"
    title = "entropy of the opening token"
    formula = "−Σ_j α_0j ln α_0j"
    paper = "Clark et al. 2019, section 3.3"
    of_one_text = False
    needs = "a `[CLS]` or its like"
    unit = "nats"
    bounds = (0.0, float("inf"))
    feature = "entropy"
    queries = "cls"
    both_directions = True
