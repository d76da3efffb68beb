"""Heads that look one token back, whatever stands there."""

from __future__ import annotations

from headscope.statistics.definitions.on_repeats import OnRepeats


class RepeatPrevious(OnRepeats):
    """On repeated random tokens, attention to the token before the query.

    Olsson et al. 2022: the previous-token heads that induction heads rest on. On random tokens
    position alone can lead there. Mean over the same queries as `induction`.
    """

    name = "repeat_previous"
    feature = "previous"
