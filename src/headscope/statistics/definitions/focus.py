"""How far a head is from attending to everything alike."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic


class Focus(Statistic):
    """Distance from uniform attention: 0 where a query attends to all it sees alike, 1 to one key.

    Entropy relative to its largest value, so that short and long texts, and the early and late
    queries of a decoder, can be compared. Queries that see one key alone say nothing.
    """

    name = "focus"
    title = "focus"
    formula = "mean_i 1 − H_i / ln(keys i sees)"
    paper = "Clark et al. 2019, section 3.3, relative to its bound"
    unit = "share"
    standard = False
    feature = "entropy"

    def row_values(self, rows: Rows, grid: Grid) -> Tensor:
        seen = _keys_seen(grid).to(rows["entropy"].dtype)
        values = 1 - rows["entropy"] / seen.log()[:, None]
        return values.masked_fill((~grid.query.valid | (seen < 2))[:, None], math.nan)

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        values = self.row_values(rows, grid)
        return rows.mean_of(torch.nan_to_num(values, nan=0.0), queries=~values[:, 0].isnan())


def _keys_seen(grid: Grid) -> Tensor:
    """b t: how many keys each query sees; at least 1 where a query is padding."""
    if grid.causal:
        return grid.query.valid.cumsum(1).clamp_min(1)
    return grid.key.lengths[:, None].expand(-1, grid.query.ids.shape[1]).clamp_min(1)
