"""Attention to the same token elsewhere."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.statistics.features import places, same_token
from headscope.statistics.grid import Grid
from headscope.statistics.rows import Rows
from headscope.statistics.statistic import Statistic


class SameToken(Statistic):
    """Attention to other places where the query's own token stands: Σ_(j ≠ i, x_j = x_i) α_ij.

    Mean over queries that have such a place among the keys they can see; special tokens neither
    ask nor count (Vig 2019, pattern 3; the duplicate-token heads of Wang et al. 2022).
    """

    name = "same_token"
    unit = "share"
    feature = "same_token"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return rows.mean("same_token", queries=_repeated(grid))


def _repeated(grid: Grid) -> Tensor:
    """b t bool: queries whose token stands at another place they can see."""
    found = torch.zeros_like(grid.query.valid)
    span = 256  # so that long texts need no queries × keys matrix
    for start in range(0, found.shape[1], span):
        queries = slice(start, min(found.shape[1], start + span))
        same = same_token(grid, queries)
        if grid.causal:
            query, key = places(grid, queries)
            same = same & (key < query)
        found[:, queries] = same.any(2)
    return found
