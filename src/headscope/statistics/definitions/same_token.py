"""Attention to the same token elsewhere."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.statistics.features.grid import PUNCTUATION, Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic


class SameToken(Statistic):
    """Attention to other places where the query's own token stands.

    Mean over queries that have such a place among the keys they can see; special tokens neither
    ask nor count.
    """

    name = "same_token"
    title = "same token elsewhere"
    formula = "mean over queries with such a place of Σ_(j ≠ i, x_j = x_i) α_ij"
    paper = "Vig 2019, pattern 3; Wang et al. 2022 (duplicate-token heads)"
    standard = False  # needs a comparison per pair, which a GPU feels
    needs = "a text that repeats a token"
    unit = "share"
    feature = "same_token"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return rows.mean("same_token", queries=_repeated(grid))


def _repeated(grid: Grid) -> Tensor:
    """b t bool: queries whose token stands at another place they can see."""
    places = torch.arange(grid.query.ids.shape[1], device=grid.query.ids.device)
    content = grid.query.classes >= PUNCTUATION
    # equal tokens become neighbours, in the order of the text; a special token equals nothing
    tokens, order = torch.where(content, grid.query.ids, -1 - places).sort(dim=1, stable=True)
    before = torch.zeros_like(content)
    before[:, 1:] = tokens[:, 1:] == tokens[:, :-1]
    found = before
    if not grid.causal:
        found = before.clone()
        found[:, :-1] |= before[:, 1:]
    return torch.zeros_like(found).scatter(1, order, found)
