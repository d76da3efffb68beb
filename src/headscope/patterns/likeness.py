"""Likeness of two tokens: the cosine of their static embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import normalize

from headscope.models.limits import token_vectors
from headscope.statistics.features.grid import Grid

if TYPE_CHECKING:
    from headscope.reading import Scope


class Likeness:
    """Cosines from a table of embeddings (vocabulary × width)."""

    def __init__(self, table: Tensor) -> None:
        # without subtracting the mean, which all tokens share, every pair looks alike
        self._table = normalize(table.detach().float() - table.detach().float().mean(0), dim=1)

    def __call__(self, grid: Grid, queries: slice) -> Tensor:
        """b tq s, to five digits: smaller differences are rounding and must not rank two copies of
        one token."""
        table = self._table.to(grid.key.ids.device)
        query = table[grid.query.ids[:, queries].clamp(min=0)]
        return (query @ table[grid.key.ids.clamp(min=0)].transpose(1, 2)).round_(decimals=5)


def likeness_of(scope: Scope) -> Likeness | None:
    """The likeness by a model's own input embeddings, or None if it has no table of them."""
    table = token_vectors(scope.model)
    if table is None or table.ndim != 2:
        return None
    with torch.no_grad():
        return Likeness(table)
