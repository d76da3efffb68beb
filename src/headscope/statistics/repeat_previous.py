"""Heads that look one token back, whatever stands there."""

from __future__ import annotations

from torch import Tensor

from headscope.statistics.grid import Grid
from headscope.statistics.repeats import has_copy
from headscope.statistics.rows import Rows
from headscope.statistics.statistic import Statistic


class RepeatPrevious(Statistic):
    """On repeated random tokens, attention to the token before the query.

    Olsson et al. 2022: the previous-token heads that induction heads rest on. On random tokens
    position alone can lead there. Mean over the same queries as `induction`.
    """

    name = "repeat_previous"
    unit = "share"
    kinds = ("decoder",)
    source = "repeats"
    standard = False
    feature = "previous"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return rows.mean("previous", queries=has_copy(grid))
