"""Counts of pairs of tokens while they are on a GPU: sorted and added up there, batch after batch.

A batch of 256 texts has some five million pairs of a query and the key it attends to most, and as
many that stand in one text. Only what is left of a portion goes to main memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headscope.statistics.places.counts import MOST_TOGETHER, UNIT

if TYPE_CHECKING:
    from headscope.statistics.features.grid import Grid
    from headscope.statistics.places.counts import Counts, CountTable

AT_ONCE = 2**24  # pairs of tokens of a batch looked at together


class DeviceTable:
    """Sums by code, sorted by code, as those of `CountTable`."""

    def __init__(self, device: torch.device) -> None:
        self.codes = torch.zeros(0, dtype=torch.long, device=device)
        self.sums = torch.zeros(3, 0, dtype=torch.long, device=device)  # count, Σ, Σ of squares

    def add(self, codes: Tensor, sums: Tensor) -> None:
        """Codes n and their sums 3 × n."""
        ordered, order = torch.cat([self.codes, codes]).sort()
        self.codes, place = ordered.unique_consecutive(return_inverse=True)
        # whole numbers: whoever is added first, the sum is the same
        every = torch.cat([self.sums, sums], dim=1)[:, order]
        self.sums = every.new_zeros(3, len(self.codes)).index_add_(1, place, every)

    def keep(self, kept: Tensor) -> None:
        self.codes, self.sums = self.codes[kept], self.sums[:, kept]

    def into(self, table: CountTable) -> None:
        table.add_counted(self.codes.cpu().numpy(), *self.sums.cpu().numpy())


class DeviceCounts:
    """What `Counts.add_pairs` and `Counts.add_together` do, on a GPU."""

    def __init__(self, counts: Counts, device: torch.device) -> None:
        self._counts = counts
        self._tables = {
            name: DeviceTable(device) for name in ("queries", "keys", "pairs", "together")
        }
        self._lost = torch.zeros(counts.heads, dtype=torch.long, device=device)

    def add_pairs(self, heads: Tensor, query: Tensor, key: Tensor, largest: Tensor) -> None:
        vocabulary, of = self._counts.vocabulary, DeviceTable(heads.device)
        of.add((heads * vocabulary + query) * vocabulary + key, _counted(largest.double()))
        with_query = of.codes // vocabulary
        with_key = with_query // vocabulary * vocabulary + of.codes % vocabulary
        self._tables["queries"].add(with_query, of.sums)
        self._tables["keys"].add(with_key, of.sums)
        self._tables["pairs"].add(of.codes, of.sums)
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
            chance = 1 / seen.sum(2, keepdim=True).double()
            self._tables["together"].add(ids[seen], _counted(chance.expand(seen.shape)[seen]))
            self._prune_together()

    def _prune(self) -> None:
        """Keep each head's most frequent pairs; remember how many of one may have gone."""
        pairs, counts = self._tables["pairs"], self._counts
        head = pairs.codes // counts.vocabulary**2
        held = head.bincount(minlength=counts.heads)
        if not len(head) or int(held.max()) <= counts.most_pairs:
            return
        order = _most_frequent_first(pairs)
        order = order[head[order].argsort(stable=True)]
        starts = held.cumsum(0) - held
        place = torch.empty_like(head)
        place[order] = torch.arange(len(head), device=head.device) - starts[head[order]]
        gone = place >= counts.most_pairs
        most = torch.zeros_like(self._lost)
        self._lost += most.scatter_reduce_(0, head[gone], pairs.sums[0][gone], "amax")
        pairs.keep(~gone)

    def _prune_together(self) -> None:
        together = self._tables["together"]
        if len(together.codes) > 2 * MOST_TOGETHER:
            kept = torch.zeros_like(together.codes, dtype=torch.bool)
            kept[_most_frequent_first(together)[:MOST_TOGETHER]] = True
            together.keep(kept)

    def settle(self) -> None:
        """Hand over what there is."""
        for name, table in self._tables.items():
            table.into(getattr(self._counts, name))
        self._counts.lost += self._lost.cpu().numpy()


def _most_frequent_first(table: DeviceTable) -> Tensor:
    """Places in the table; of codes that are met as often the lowest first."""
    return (-table.sums[0]).argsort(stable=True)


def _counted(weights: Tensor) -> Tensor:
    """3 × n: one each, its weight and the square of it, in whole units."""
    units = torch.stack([weights, weights.square()]).div_(UNIT).round_().long()
    return torch.cat([torch.ones_like(units[:1]), units])
