"""Heads that look one token back, whatever stands there."""

from __future__ import annotations

from headscope.statistics.definitions.on_repeats import OnRepeats


class RepeatPrevious(OnRepeats):
    """On repeated random tokens, attention to the token before the query.

    The previous-token heads that induction heads rest on. On random tokens position alone can lead
    there. Mean over the same queries as `induction`.
    """

    name = "repeat_previous"
    title = "previous token, repeated tokens"
    formula = "mean over queries with a copy of α_(i,i−1)"
    paper = "Olsson et al. 2022"
    feature = "previous"
