"""Heads that look for the same token earlier in the text."""

from __future__ import annotations

from headscope.statistics.definitions.on_repeats import OnRepeats
from headscope.statistics.features.feature import PairFeature
from headscope.statistics.features.repeats import earlier_copy


class DuplicateToken(OnRepeats):
    """On repeated random tokens, attention to an earlier copy of the query's token.

    Duplicate-token heads; a query with several earlier copies may look at any. Mean over the
    queries of the second and later copies of 25 random tokens, 4 times over, after a begin-of-text
    token.
    """

    name = "duplicate_token"
    title = "earlier copy, repeated tokens"
    formula = "mean over queries with a copy of Σ_(j < i, x_j = x_i) α_ij"
    paper = "Wang et al. 2022"
    feature = PairFeature(
        "duplicate_token", lambda grid, queries: earlier_copy(grid, queries, shift=0)
    )
