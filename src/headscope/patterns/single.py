"""Scores of maps that are already there: a reading's, or made-up ones."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.patterns.pattern import Pattern, Scores
from headscope.statistics.feature import PairFeature, RowFeature
from headscope.statistics.grid import Grid
from headscope.statistics.rows import Rows


def score_maps(pattern: Pattern, weights: Tensor, grid: Grid) -> Scores | None:
    """Scores (b h) of maps (b h t s); None where the pattern does not apply."""

    if not pattern.applies(grid.causal) or grid.query is not grid.key:
        return None
    every = slice(0, weights.shape[2])
    names: list[str] = []
    values: list[Tensor] = []
    for feature in pattern.features():
        names.append(feature.name)
        if isinstance(feature, PairFeature):
            values.append(torch.einsum("bhts,bts->bht", weights, feature.make(grid, every).float()))
        else:
            assert isinstance(feature, RowFeature)
            values.append(feature.make(weights, grid, every))
    heads = [(0, head) for head in range(weights.shape[1])]
    rows = Rows(grid, heads, names, torch.stack(values, dim=2), {})
    return pattern.scores(rows, grid)
