"""Heads that look one token back, whatever stands there."""

from __future__ import annotations

from torch import Tensor

from headscope.statistics.features.grid import Grid
from headscope.statistics.features.repeats import has_copy
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic


class RepeatPrevious(Statistic):
    """On repeated random tokens, attention to the token before the query.

    The previous-token heads that induction heads rest on. On random tokens position alone can lead
    there. Mean over the queries of the second and later copies of 25 random tokens, 4 times over,
    after a begin-of-text token.
    """

    name = "repeat_previous"
    title = "previous token, repeated tokens"
    formula = "mean over queries with a copy of α_(i,i−1)"
    paper = "Olsson et al. 2022"
    unit = "share"
    kinds = ("decoder",)
    source = "repeats"
    standard = False
    feature = "previous"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return rows.mean("previous", queries=has_copy(grid))
