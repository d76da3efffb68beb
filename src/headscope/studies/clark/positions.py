"""Section 3.1 as the paper counts: attention at an offset, over all tokens, special ones too.

The patterns `next_word`, `previous_word` and `self_word` ask content words of one sentence alone.
"""

from __future__ import annotations

from headscope.statistics.statistic import Statistic


class SelfToken(Statistic):
    """Share of attention that a token pays to itself."""

    name = "self"
    unit = "share"
    feature = "self"


class PreviousToken(Statistic):
    """Share of attention that goes to the token before the query; the first token counts as 0."""

    name = "previous"
    unit = "share"
    feature = "previous"


class NextToken(Statistic):
    """Share of attention that goes to the token after the query; the last token counts as 0."""

    name = "next"
    unit = "share"
    feature = "next"
    both_directions = True


POSITIONS = (SelfToken, NextToken, PreviousToken)
