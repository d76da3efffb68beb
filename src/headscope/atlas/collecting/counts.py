"""Counts of what a head's queries attend to most: offsets, tokens, pairs of tokens, positions.

Every query counts once, for the key it gives the largest weight. Counts are exact, except of pairs
of tokens: each head keeps a bounded number of pairs and drops the rarest, and `lost` bounds how
much a pair's count may be too low. Everything is counted on the device of the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.atlas.collecting.settings import STRONGEST
from headscope.statistics.definitions.entropy import Focus
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows

Array = NDArray[Any]
REACH = 64  # offsets beyond are counted as this one
OFFSETS = 2 * REACH + 1
POSITIONS = 10  # tenths of a text
LENGTHS = 20  # powers of two
MOST_TOGETHER = 2**18  # pairs of tokens whose expected count is kept
AT_ONCE = 2**24  # pairs of positions of a batch processed together
PENDING = 2**18  # rows that wait to be added to a table


class Sums(NamedTuple):
    """A table in main memory."""

    codes: NDArray[np.int64]
    counts: NDArray[np.float64]
    weight: NDArray[np.float64]
    square: NDArray[np.float64]
    bunched: NDArray[np.float64]  # Σ over texts of (count in the text)²: count where all are apart
    bunched_both: NDArray[np.float64]  # Σ over texts of count · weight
    bunched_weight: NDArray[np.float64]  # Σ over texts of weight²


class CountTable:
    """Sums by code, sorted by code: counts, weights, and how much counts bunch in few texts."""

    def __init__(self, waiting: int = PENDING) -> None:
        self._waiting = waiting
        self._codes = torch.zeros(0, dtype=torch.long)
        self._sums = torch.zeros(6, 0, dtype=torch.double)
        self._pending: list[tuple[Tensor, Tensor]] = []

    @classmethod
    def of(cls, codes: Tensor, weights: Tensor) -> CountTable:
        """Sums in which every code counts once, with its weight."""
        exact, table = weights.double(), cls()
        own = torch.stack([torch.ones_like(exact), exact, exact.square()])
        table.add(codes, torch.cat([own, own]))
        return table

    def add(self, codes: Tensor, sums: Tensor) -> None:
        """Add sums (6 × n) to those of their codes; several at a time, because sorting is slow."""
        self._pending.append((codes, sums))
        if len(self) > 2 * max(self._waiting, len(self._codes)):
            self._settle()

    def _settle(self) -> None:
        if self._pending:
            device = self._pending[-1][0].device
            both = [(self._codes, self._sums), *self._pending]
            codes = torch.cat([of.to(device) for of, _ in both])
            sums = torch.cat([of.to(device) for _, of in both], dim=1)
            self._codes, at = codes.unique(return_inverse=True)
            self._sums = torch.stack([at.bincount(of, len(self._codes)) for of in sums])
            self._pending = []

    @property
    def codes(self) -> Tensor:
        self._settle()
        return self._codes

    @property
    def sums(self) -> Tensor:
        self._settle()
        return self._sums

    def __len__(self) -> int:
        """An upper bound on the number of codes: waiting ones may repeat others."""
        return len(self._codes) + sum(len(of) for of, _ in self._pending)

    def fetched(self) -> Sums:
        return Sums(self.codes.cpu().numpy(), *self.sums.cpu().numpy())

    def keep_most_frequent(self, most: int, groups: Tensor) -> tuple[Tensor, Tensor]:
        """Keep each group's most frequent codes; return the dropped codes with their counts.

        `groups` is the group of every code, in order of the codes.
        """
        by_count = self.sums[0].argsort(descending=True, stable=True)
        order = by_count[groups[by_count].argsort(stable=True)]
        ordered = groups[order]
        rank = torch.arange(len(order), device=order.device) - torch.searchsorted(ordered, ordered)
        kept = torch.zeros_like(order, dtype=torch.bool)
        kept[order] = rank < most
        dropped = self._codes[~kept], self._sums[0, ~kept]
        self._codes, self._sums = self._codes[kept], self._sums[:, kept]
        return dropped


class Counts:
    """The counts of all heads of one kind of attention."""

    def __init__(
        self,
        heads: int,
        vocabulary: int,
        pairs: int,
        of_tokens: bool = True,
        waiting: int = PENDING,
    ) -> None:
        self.heads, self.vocabulary, self.most_pairs = heads, vocabulary, pairs
        self.of_tokens = of_tokens  # False: tokens are not counted

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.double)

        self.total = zeros(1)  # queries seen
        self.offsets = zeros(heads, OFFSETS)
        self.bunched_offsets = zeros(heads, OFFSETS)  # Σ over texts of their squares
        self.expected_offsets = zeros(OFFSETS)  # of uniform attention
        self.positions = zeros(3, heads, POSITIONS)  # queries, Σ largest, Σ focus
        self.lengths = zeros(3, heads, LENGTHS)
        self.lost = zeros(heads)  # how much a pair's count may be too low
        self.queries = CountTable(waiting)  # head · V + query token
        self.keys = CountTable(waiting)  # head · V + key token
        self.pairs = CountTable(waiting)  # (head · V + query token) · V + key token
        self.chance = CountTable()  # key token, with the weight that uniform attention gives it
        self.together = CountTable()  # query token · V + key token, likewise

    def add(self, rows: Rows, grid: Grid) -> None:
        """Take in a batch."""
        key, largest, valid = rows[STRONGEST].long(), rows["largest"], grid.query.valid
        self._count_along(
            torch.stack([torch.ones_like(largest), largest, _focus(rows, grid)]), valid
        )
        self._plus("total", valid.sum().double()[None])
        document, query = valid.nonzero(as_tuple=True)
        key, largest = key[document, :, query].T, largest[document, :, query].T  # H n
        heads = torch.arange(self.heads, device=key.device)[:, None]
        if grid.same:
            offset = (key - query + REACH).clamp(0, OFFSETS - 1) + heads * OFFSETS
            size = self.heads * OFFSETS
            codes, count = (document * size + offset).unique(return_counts=True)
            for name, power in (("offsets", 1), ("bunched_offsets", 2)):
                found = (codes % size).bincount(count.double() ** power, size)
                self._plus(name, found.view(self.heads, OFFSETS))
        for codes, offset, chance in _uniform(grid, self.vocabulary):
            if grid.same:
                self._plus("expected_offsets", offset.bincount(chance, OFFSETS))
            if self.of_tokens:
                found = CountTable.of(codes, chance)
                self.together.add(found.codes, found.sums)
                self.chance.add(found.codes % self.vocabulary, found.sums)
        if self.of_tokens:
            with_query = heads * self.vocabulary + grid.query.ids[document, query]
            codes = with_query * self.vocabulary + grid.key.ids[document, key]
            texts = self.heads * self.vocabulary**2  # separates the codes of texts
            found = CountTable.of((document * texts + codes).flatten(), largest.flatten())
            self._add_pairs(found, texts)
        self.prune(2 * self.most_pairs)

    def _count_along(self, every: Tensor, valid: Tensor) -> None:
        """Sums (of 3 b H t) by a query's tenth of its text and by the text's length."""
        lengths = valid.sum(1).clamp_min(1)
        number = valid.cumsum(1) - 1  # of a token in its text
        tenth = (number * POSITIONS // lengths[:, None]).clamp(0, POSITIONS - 1)
        inside = _one_hot(tenth, POSITIONS) * valid[..., None]  # b t 10
        bucket = _one_hot(lengths.log2().long(), LENGTHS)
        summed = torch.einsum("xbht,btp->xbhp", every.double(), inside)
        self._plus("positions", summed.sum(1))
        self._plus("lengths", torch.einsum("xbh,bl->xhl", summed.sum(3), bucket))

    def _add_pairs(self, found: CountTable, texts: int) -> None:
        document, codes = found.codes // texts, found.codes % texts
        with_query = codes // self.vocabulary
        head = with_query // self.vocabulary
        with_key = head * self.vocabulary + codes % self.vocabulary
        size = self.heads * self.vocabulary
        self.pairs.add(codes, _bunched(found.sums))
        for table, of in ((self.queries, with_query), (self.keys, with_key)):
            within = CountTable()
            within.add(document * size + of, found.sums)
            table.add(within.codes % size, _bunched(within.sums))

    def prune(self, crowded: int) -> None:
        """Drop the rarest pairs of each head where heads have more than `crowded` on average."""
        if len(self.pairs) > crowded * self.heads < len(self.pairs.codes):
            groups = self.pairs.codes // self.vocabulary**2
            codes, count = self.pairs.keep_most_frequent(self.most_pairs, groups)
            most = torch.zeros(self.heads, dtype=torch.double, device=codes.device)
            most.scatter_reduce_(0, codes // self.vocabulary**2, count, "amax")
            self._plus("lost", most)
        if len(self.together) > 2 * MOST_TOGETHER < len(self.together.codes):
            alone = torch.zeros_like(self.together.codes)
            self.together.keep_most_frequent(MOST_TOGETHER, alone)

    def _plus(self, name: str, more: Tensor) -> None:
        setattr(self, name, getattr(self, name).to(more.device) + more)

    def merge(self, other: Counts) -> None:
        for name in _PLAIN:
            self._plus(name, getattr(other, name))
        for name in _TABLES:
            theirs: CountTable = getattr(other, name)
            getattr(self, name).add(theirs.codes, theirs.sums)
        self.prune(2 * self.most_pairs)

    def arrays(self) -> dict[str, Array]:
        found: dict[str, Array] = {name: getattr(self, name).cpu().numpy() for name in _PLAIN}
        for name in _TABLES:
            table: CountTable = getattr(self, name)
            found[f"{name}.codes"] = table.codes.cpu().numpy()
            found[f"{name}.sums"] = table.sums.cpu().numpy()
        return found

    def restore(self, arrays: dict[str, Array]) -> None:
        for name in _PLAIN:
            setattr(self, name, torch.from_numpy(arrays[name].copy()))
        for name in _TABLES:
            codes, sums = (torch.from_numpy(arrays[f"{name}.{of}"]) for of in ("codes", "sums"))
            getattr(self, name).add(codes, sums)


_PLAIN = ("total", "offsets", "bunched_offsets", "expected_offsets", "positions", "lengths", "lost")
_TABLES = ("queries", "keys", "pairs", "chance", "together")


def _bunched(sums: Tensor) -> Tensor:
    """Sums of single texts, with the squares of their counts and weights."""
    count, weight = sums[:1], sums[1:2]
    return torch.cat([sums[:3], count.square(), count * weight, weight.square()])


def _uniform(grid: Grid, vocabulary: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """For all queries and the keys they see: the tokens' code, the offset, the uniform weight."""
    queries, keys = grid.query.valid.shape[1], grid.key.valid.shape[1]
    span = max(1, AT_ONCE // (queries * keys))
    for start in range(0, len(grid.documents), span):
        some = slice(start, start + span)
        seen = grid.query.valid[some, :, None] & grid.key.valid[some, None]
        if grid.causal:
            seen &= torch.ones(queries, keys, dtype=torch.bool, device=seen.device).tril()
        document, query, key = seen.nonzero(as_tuple=True)
        chance = 1 / seen.sum(2).double()[document, query]
        codes = (
            grid.query.ids[some][document, query] * vocabulary + grid.key.ids[some][document, key]
        )
        yield codes, (key - query + REACH).clamp(0, OFFSETS - 1), chance


def _one_hot(values: Tensor, count: int) -> Tensor:
    """torch's own function makes a GPU wait for a check that all codes are below the count."""
    return (values[..., None] == torch.arange(count, device=values.device)).double()


def _focus(rows: Rows, grid: Grid) -> Tensor:
    """b H t: 1 − H / ln(keys seen); 0 if a query sees a single key."""
    return torch.nan_to_num(Focus().row_values(rows, grid), nan=0.0)
