"""Attention from all other tokens to `[SEP]`."""

from __future__ import annotations

from torch import Tensor

from headscope.statistics.features.grid import SEP, Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic, undefined_unless


class RestToSep(Statistic):
    """Share of the attention of all other tokens that goes to `[SEP]` tokens.

    Undefined for texts without a `[SEP]`.
    """

    name = "rest_sep"
    title = "separators, from all other tokens"
    formula = "mean over i ∉ [SEP] of Σ_(j ∈ [SEP]) α_ij"
    paper = "Clark et al. 2019, section 3.2"
    of_one_text = False
    needs = "a `[SEP]` or its like"
    unit = "share"
    feature = "sep"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return undefined_unless(
            (grid.key.classes == SEP).any(1), rows.mean("sep", queries="not_sep")
        )
