"""Attention to `[SEP]`."""

from __future__ import annotations

from torch import Tensor

from headscope.statistics.features.grid import SEP, Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic, undefined_unless


class Sep(Statistic):
    """Share of attention that goes to `[SEP]` tokens.

    Other tokenizers' tokens of the same role count (`</s>`, end-of-text); undefined for texts
    without one.
    """

    name = "sep"
    title = "separators"
    formula = "Σ_i Σ_(j ∈ [SEP]) α_ij / n"
    paper = "Clark et al. 2019, section 3.2 (figure 2)"
    needs = "a `[SEP]` or its like"
    unit = "share"
    feature = "sep"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return undefined_unless((grid.key.classes == SEP).any(1), rows.mean("sep"))
