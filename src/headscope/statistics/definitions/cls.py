"""Attention to `[CLS]`."""

from __future__ import annotations

from torch import Tensor

from headscope.statistics.features.grid import CLS, Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic, undefined_unless


class Cls(Statistic):
    """Share of attention that goes to `[CLS]` tokens.

    Other tokenizers' tokens of the same role count (`<s>`, a decoder's begin-of-text); undefined
    for texts without one.
    """

    name = "cls"
    title = "opening token"
    formula = "Σ_i Σ_(j ∈ [CLS]) α_ij / n"
    paper = "Clark et al. 2019, section 3.2 (figure 2)"
    needs = "a `[CLS]` or its like"
    unit = "share"
    feature = "cls"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return undefined_unless((grid.key.classes == CLS).any(1), rows.mean("cls"))
