"""A plan: the features wanted of a batch, sorted by how they are computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.statistics.features.feature import (
    Feature,
    KeyFeature,
    PairFeature,
    RowFeature,
    ValueFeature,
)
from headscope.statistics.features.grid import Grid

PAIR_BYTES = 2**26  # pair features of a batch are kept for its other layers up to this size
PAIR_BYTES_GPU = 2**30


class Plan:
    """Features of one kind of attention on one grid; columns are in the order of `names`."""

    def __init__(self, grid: Grid, features: Iterable[Feature]) -> None:
        self.grid = grid
        found = {feature.name: feature for feature in features}.values()
        self.features = tuple(found)
        self.keys = [f for f in found if isinstance(f, KeyFeature)]
        self.values = [f for f in found if isinstance(f, ValueFeature)]
        self.pairs = [f for f in found if isinstance(f, PairFeature) and not f.squared]
        self.squares = [f for f in found if isinstance(f, PairFeature) and f.squared]
        self.rows = [f for f in found if isinstance(f, RowFeature) and f.width is None]
        self.wide = [f for f in found if isinstance(f, RowFeature) and f.width is not None]
        scalars = [*self.keys, *self.values, *self.pairs, *self.squares, *self.rows]
        self.names = [feature.name for feature in scalars]
        self._key_columns: Tensor | None = None
        self._pair_columns: dict[tuple[int, int, int, int], Tensor] = {}
        self._pair_bytes = 0

    def key_columns(self) -> Tensor:
        """b s C float32."""
        if self._key_columns is None:
            columns = [feature.make(self.grid).float() for feature in self.keys]
            self._key_columns = torch.stack(columns, dim=-1)
        return self._key_columns

    def value_columns(self, call: Call) -> Tensor:
        """b h s C float32."""
        return torch.stack([f.make(self.grid, call).float() for f in self.values], dim=-1)

    def pair_columns(self, documents: slice, queries: slice) -> Tensor:
        """b tq s P float32 of the pairs and then the squares, kept from one layer to the next
        while that takes little memory."""
        at = (documents.start, documents.stop, queries.start, queries.stop)
        kept = self._pair_columns.get(at)
        if kept is not None:
            return kept
        grid = self.grid.of_documents(documents)
        batch, keys = grid.key.ids.shape
        count = queries.stop - queries.start
        wanted = [*self.pairs, *self.squares]
        columns = torch.empty(batch, count, keys, len(wanted), device=grid.key.ids.device)
        made: dict[object, int] = {}  # a pool's weights and their squares share a column's numbers
        for place, feature in enumerate(wanted):
            same = made.setdefault(feature.make, place)
            columns[..., place] = (
                feature.make(grid, queries) if same == place else columns[..., same]
            )
        size = columns.numel() * columns.element_size()
        most = PAIR_BYTES_GPU if columns.is_cuda else PAIR_BYTES
        if self._pair_bytes + size <= most:
            self._pair_columns[at] = columns
            self._pair_bytes += size
        return columns

    def of_keys(self, count: int) -> Plan:
        """The same features with only the first keys there."""
        return Plan(self.grid.of_keys(count), self.features)


def blocks(
    documents: int, heads: int, queries: int, keys: int, most: int
) -> Iterator[tuple[slice, slice]]:
    """Cut documents × queries so that no block has more than `most` weights (or is one row)."""
    row = heads * keys
    per_document = max(1, min(queries, most // row))
    at_once = max(1, most // (row * queries)) if per_document == queries else 1
    for first in range(0, documents, at_once):
        chosen = slice(first, min(documents, first + at_once))
        for start in range(0, queries, per_document):
            yield chosen, slice(start, min(queries, start + per_document))
