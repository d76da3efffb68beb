"""Scores of existing maps: a reading's, or synthetic ones."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.patterns.pattern import Pattern, Scores
from headscope.statistics.features.feature import KeyFeature, PairFeature, RowFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows


def score_maps(pattern: Pattern, weights: Tensor, grid: Grid) -> Scores | None:
    """Scores (b h) of maps (b h t s); None if the pattern does not apply."""
    if not pattern.applies(grid.causal) or not grid.same:
        return None
    return pattern.scores(rows_of_maps(pattern, weights, grid), grid)


def rows_of_maps(pattern: Pattern, weights: Tensor, grid: Grid) -> Rows:
    """The row features that a pattern needs, of maps (b h t s)."""
    every = slice(0, weights.shape[2])
    values: dict[str, Tensor] = {}
    wide: dict[str, Tensor] = {}
    for feature in pattern.features():
        if isinstance(feature, KeyFeature):
            columns = feature.make(grid).float()
            values[feature.name] = torch.einsum("bhts,bs->bht", weights, columns)
        elif isinstance(feature, PairFeature):
            columns = feature.make(grid, every).float()
            counted = weights.square() if feature.squared else weights
            values[feature.name] = torch.einsum("bhts,bts->bht", counted, columns)
        else:
            assert isinstance(feature, RowFeature)
            into = values if feature.width is None else wide
            into[feature.name] = feature.make(weights, grid, every)
    heads = [(0, head) for head in range(weights.shape[1])]
    none = weights.new_zeros(*weights.shape[:2], 0, weights.shape[2])
    stacked = torch.stack(list(values.values()), dim=2) if values else none
    return Rows(grid, heads, list(values), stacked, wide)
