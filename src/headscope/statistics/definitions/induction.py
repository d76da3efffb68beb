"""Heads that look for what came next last time."""

from __future__ import annotations

from headscope.statistics.definitions.on_repeats import OnRepeats
from headscope.statistics.features.feature import PairFeature
from headscope.statistics.features.repeats import earlier_copy


class Induction(OnRepeats):
    """On repeated random tokens, attention to what followed an earlier copy of the query's token.

    An induction head finds what followed the current token before. A query with several earlier
    copies may look at any of them. Mean over the queries of the second and later copies of 25
    random tokens, 4 times over, after a begin-of-text token.
    """

    name = "induction"
    title = "induction, repeated tokens"
    formula = "mean over queries with a copy of Σ_(j ≤ i, x_(j−1) = x_i) α_ij"
    paper = "Olsson et al. 2022"
    feature = PairFeature("induction", lambda grid, queries: earlier_copy(grid, queries, shift=1))
