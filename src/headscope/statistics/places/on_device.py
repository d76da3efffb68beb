"""Counts of a portion while they are on a GPU: added up there, batch after batch.

A batch of 1,024 texts has some twenty million pairs of a query and the key it attends to most, and
as many that stand in one text. Only what is left of a portion goes to main memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headscope.statistics.places.counts import LENGTHS, MOST_TOGETHER, OFFSETS, POSITIONS
from headscope.statistics.places.device_tables import (
    DeviceTable,
    SortedTable,
    counted,
    most_frequent,
    table_of,
    tallied,
)

if TYPE_CHECKING:
    from headscope.statistics.features.grid import Grid
    from headscope.statistics.places.counts import Counts

AT_ONCE = 2**24  # pairs of tokens of a batch looked at together


class DeviceCounts:
    """What `Counts` holds, of a portion."""

    def __init__(self, counts: Counts, device: torch.device) -> None:
        self._counts = counts
        size = counts.heads * counts.vocabulary
        self._queries: DeviceTable = table_of(size, device)
        self._keys: DeviceTable = table_of(size, device)
        self._pairs, self._together = SortedTable(device), SortedTable(device)
        self._seen = self._stood_together = 0  # queries of a head; pairs of tokens

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.long, device=device)

        self._lost = zeros(counts.heads)
        self._offsets = zeros(counts.heads * OFFSETS)
        self._positions, self._lengths = (zeros(3, counts.heads, n) for n in (POSITIONS, LENGTHS))

    def add_along(self, positions: Tensor, lengths: Tensor) -> None:
        """Sums by places and lengths, 3 H …, in whole units."""
        self._positions += positions
        self._lengths += lengths

    def add_offsets(self, offsets: Tensor) -> None:
        """How far each query's key is (H n), from 0 up."""
        first = torch.arange(len(offsets), device=offsets.device)[:, None] * OFFSETS
        self._offsets += tallied(offsets, first, len(self._offsets))

    def add_pairs(self, query: Tensor, key: Tensor, largest: Tensor) -> None:
        """Queries' tokens (n), and the token and weight that each head (H n) gives most to."""
        vocabulary = self._counts.vocabulary
        heads = torch.arange(len(key), device=key.device)[:, None] * vocabulary
        sums = counted(largest.flatten())
        with_query = (heads + query).flatten()
        self._queries.add(with_query, sums)
        self._keys.add((heads + key).flatten(), sums)
        self._pairs.add(with_query * vocabulary + key.flatten(), sums)
        self._seen += len(query)
        self._prune()

    def add_together(self, grid: Grid) -> None:
        """The pairs of tokens that stand in one text, by what even attention gives them."""
        queries, keys = grid.query.valid.shape[1], grid.key.valid.shape[1]
        span = max(1, AT_ONCE // (queries * keys))
        for start in range(0, len(grid.documents), span):
            some = slice(start, start + span)
            seen = grid.query.valid[some, :, None] & grid.key.valid[some, None]
            if grid.causal:
                seen &= torch.ones(queries, keys, dtype=torch.bool, device=seen.device).tril()
            ids = grid.query.ids[some, :, None] * self._counts.vocabulary + grid.key.ids[some, None]
            chance = (1 / seen.sum(2, keepdim=True).double()).expand(seen.shape)
            if not grid.same or grid.causal or not grid.all_keys_valid:
                ids, chance = ids[seen], chance[seen]
            self._together.add(ids.flatten(), counted(chance.flatten()))
            self._stood_together += ids.numel()
            self._prune_together()

    def _prune(self) -> None:
        """Keep each head's most frequent pairs; remember how many of one may have gone."""
        pairs, counts = self._pairs, self._counts
        if len(pairs.codes) <= counts.most_pairs:
            return
        head = pairs.codes // counts.vocabulary**2
        most = counts.most_pairs
        kept, gone = most_frequent(pairs.sums[0], head, counts.heads, most, self._seen)
        self._lost += gone
        pairs.keep(kept)

    def _prune_together(self) -> None:
        together = self._together
        if len(together.codes) > 2 * MOST_TOGETHER:
            alone = torch.zeros_like(together.codes)
            total = self._stood_together
            kept, _ = most_frequent(together.sums[0], alone, 1, MOST_TOGETHER, total)
            together.keep(kept)

    def settle(self) -> None:
        """Hand over what there is."""
        counts = self._counts
        self._queries.into(counts.queries)
        self._keys.into(counts.keys)
        self._pairs.into(counts.pairs)
        self._together.into(counts.together)
        counts.lost += self._lost.cpu().numpy()
        counts.offsets += self._offsets.view(counts.heads, OFFSETS).cpu().numpy()
        counts.positions += self._positions.cpu().numpy()
        counts.lengths += self._lengths.cpu().numpy()
