"""Counts of what a head's queries attend to most: offsets, tokens, pairs of tokens, positions.

Every query counts once, for the key it gives the largest weight. Counts are exact but for pairs of
tokens, of which each head keeps a bounded number: what falls below is dropped, and how much a
count may lack for it is known. Sums of weights are kept as whole numbers of a 2^-30th, so that they
are the same in whatever order portions are merged.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

    from headscope.statistics.places.on_device import DeviceCounts

Array = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
REACH = 64  # offsets beyond are counted as this one
OFFSETS = 2 * REACH + 1
POSITIONS = 10  # tenths of a text
LENGTHS = 20  # powers of two
MOST_TOGETHER = 2**18  # pairs of tokens whose chance is kept
UNIT = 2.0**-30  # of sums of weights: nine places after the point, room for billions of weights


def whole(values: Floats) -> Ints:
    """Numbers as multiples of the unit."""
    return np.rint(values / UNIT).astype(np.int64)


class CountTable:
    """Sums of a number and of its square by code, sorted by code; of any codes that occur."""

    def __init__(self) -> None:
        self.codes = np.zeros(0, dtype=np.int64)
        self.count = np.zeros(0, dtype=np.int64)
        self.weight = np.zeros(0, dtype=np.int64)
        self.square = np.zeros(0, dtype=np.int64)

    def add(self, codes: Ints, weights: Floats) -> None:
        """Count every code once with its weight."""
        units, squares = whole(weights), whole(weights**2)
        most = max(int(units.sum()), int(squares.sum()))
        if len(codes) and int(codes.max()) < len(codes) and most < 2**53:
            # few codes, each often, need no sorting; so small sums of doubles are exact
            count = np.bincount(codes)
            there = np.flatnonzero(count)
            sums = [np.bincount(codes, of)[there].astype(np.int64) for of in (units, squares)]
            self.add_counted(there, count[there], sums[0], sums[1])
        else:
            self.add_counted(codes, np.ones(len(codes), dtype=np.int64), units, squares)

    def add_counted(self, codes: Ints, count: Ints, weight: Ints, square: Ints) -> None:
        if not len(codes):
            return
        if len(self.codes):
            new = CountTable()
            new.add_counted(codes, count, weight, square)
            self.merge(new)
            return
        if (codes[1:] > codes[:-1]).all():
            self.codes, self.count, self.weight, self.square = codes, count, weight, square
            return
        ordered, order = _sorted(codes)
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        self.codes = ordered[starts]
        self.count = np.add.reduceat(count[order], starts)
        self.weight = np.add.reduceat(weight[order], starts)
        self.square = np.add.reduceat(square[order], starts)

    @property
    def mean(self) -> Floats:
        return self.weight * UNIT / np.maximum(self.count, 1)

    def merge(self, other: CountTable) -> None:
        """Take in another one: both are sorted, so the places of its codes are looked up."""
        if not len(self.codes) or not len(other.codes):
            taken = self if len(self.codes) else other
            for name in _COLUMNS:
                setattr(self, name, getattr(taken, name))
        elif np.array_equal(self.codes, other.codes):  # as of tokens that every portion holds
            for name in _SUMS:
                setattr(self, name, getattr(self, name) + getattr(other, name))
        else:
            self._merge_sorted(other)

    def _merge_sorted(self, other: CountTable) -> None:
        at = np.searchsorted(self.codes, other.codes)
        fresh = self.codes[np.minimum(at, len(self.codes) - 1)] != other.codes
        upto = np.cumsum(fresh)
        theirs = at + upto - fresh
        before = np.bincount(at[fresh], minlength=len(self.codes) + 1)[:-1]
        mine = np.arange(len(self.codes)) + np.cumsum(before)
        codes = np.empty(len(self.codes) + int(upto[-1]), dtype=np.int64)
        codes[mine], codes[theirs] = self.codes, other.codes
        for name in _SUMS:
            joined = np.zeros(len(codes), dtype=np.int64)
            joined[mine] = getattr(self, name)
            joined[theirs] += getattr(other, name)
            setattr(self, name, joined)
        self.codes = codes

    def keep(self, kept: NDArray[np.bool_]) -> None:
        at = np.flatnonzero(kept)  # looked for once, not for each column
        self.codes, self.count = self.codes[at], self.count[at]
        self.weight, self.square = self.weight[at], self.square[at]

    def arrays(self, prefix: str) -> dict[str, Array]:
        return {f"{prefix}.{name}": getattr(self, name) for name in _COLUMNS}

    def restore(self, prefix: str, arrays: dict[str, Array]) -> None:
        for name in _COLUMNS:
            setattr(self, name, arrays[f"{prefix}.{name}"].astype(np.int64))


_SUMS = ("count", "weight", "square")
_COLUMNS = ("codes", *_SUMS)


class Counts:
    """The counts of all heads of one kind of attention."""

    def __init__(self, heads: int, vocabulary: int, pairs: int, of_tokens: bool = True) -> None:
        self.heads, self.vocabulary, self.most_pairs = heads, vocabulary, pairs
        self.of_tokens = of_tokens  # False: which tokens they are is not counted
        self.offsets = np.zeros((heads, OFFSETS), dtype=np.int64)
        self.expected_offsets = np.zeros(OFFSETS, dtype=np.int64)  # in units, as all sums
        self.positions = np.zeros(
            (3, heads, POSITIONS), dtype=np.int64
        )  # queries, Σ largest, Σ focus
        self.lengths = np.zeros((3, heads, LENGTHS), dtype=np.int64)
        self.queries = CountTable()  # head · V + query token
        self.keys = CountTable()  # head · V + key token
        self.pairs = CountTable()  # (head · V + query token) · V + key token
        self.lost = np.zeros(heads, dtype=np.int64)  # what a pair's count may lack
        self.chance = CountTable()  # key token: how often even attention would choose it
        self.together = CountTable()  # query token · V + key token: how often even attention would
        self.total = 0  # queries seen
        self._there: DeviceCounts | None = None

    def on_device(self, device: torch.device) -> DeviceCounts:
        """Where pairs are counted that are on a GPU; `settle` brings them here."""
        from headscope.statistics.places.on_device import DeviceCounts

        if self._there is None:
            self._there = DeviceCounts(self, device)
        return self._there

    def settle(self) -> None:
        if self._there is not None:
            there, self._there = self._there, None
            there.settle()

    def add_offsets(self, offsets: Ints) -> None:
        """How far each query's key is (H n), from 0 up."""
        at = offsets + (np.arange(self.heads) * OFFSETS)[:, None]
        found = np.bincount(at.ravel(), minlength=self.heads * OFFSETS)
        self.offsets = self.offsets + found.reshape(self.heads, OFFSETS)

    def add_pairs(self, query: Ints, key: Ints, largest: NDArray[np.floating[Any]]) -> None:
        """Queries' tokens (n), and the token and weight that each head (H n) gives most to."""
        found = CountTable()
        heads = np.arange(self.heads)[:, None] * self.vocabulary
        codes = (heads + query) * self.vocabulary + key
        found.add(codes.ravel(), largest.ravel().astype(np.float64))
        head_and_query, of_key = np.divmod(found.codes, self.vocabulary)
        self.queries.add_counted(head_and_query, found.count, found.weight, found.square)
        with_key = head_and_query // self.vocabulary * self.vocabulary + of_key
        self.keys.add_counted(with_key, found.count, found.weight, found.square)
        self.pairs.merge(found)
        self.prune()

    def add_together(self, codes: Ints, chances: Floats) -> None:
        """Count the pairs of tokens that stand in one text, by what even attention gives them."""
        self.together.add(codes, chances)
        self._prune_together()

    def _prune_together(self) -> None:
        """Keep the most frequent; of the others profiles know the tokens' own counts."""
        if len(self.together.codes) > 2 * MOST_TOGETHER:
            self.together.keep(_most_frequent(self.together.count, MOST_TOGETHER))

    def prune(self) -> None:
        """Keep each head's most frequent pairs; remember how many of one may have gone."""
        first = np.arange(self.heads + 1) * self.vocabulary**2  # codes are in order of heads
        starts = np.searchsorted(self.pairs.codes, first)
        crowded = np.flatnonzero(np.diff(starts) > self.most_pairs)
        if not len(crowded):
            return
        kept = np.ones(len(self.pairs.codes), dtype=bool)
        most = np.zeros(self.heads, dtype=np.int64)
        for at in crowded:
            of_head = slice(starts[at], starts[at + 1])
            count = self.pairs.count[of_head]
            kept[of_head] = _most_frequent(count, self.most_pairs)
            most[at] = count[~kept[of_head]].max()
        self.lost = self.lost + most
        self.pairs.keep(kept)

    def copied(self) -> Counts:
        """Another one with the same arrays: no merge writes into an array."""
        made = copy.copy(self)
        for name in _TABLES:
            setattr(made, name, copy.copy(getattr(self, name)))
        return made

    def merge(self, other: Counts) -> None:
        for name in _PLAIN:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _TABLES:
            getattr(self, name).merge(getattr(other, name))
        self.total += other.total
        self.prune()
        self._prune_together()

    def arrays(self) -> dict[str, Array]:
        found: dict[str, Array] = {name: getattr(self, name) for name in _PLAIN}
        found["total"] = np.array([self.total, self.vocabulary], dtype=np.int64)
        for name in _TABLES:
            found |= getattr(self, name).arrays(name)
        return found

    def restore(self, arrays: dict[str, Array]) -> None:
        for name in _PLAIN:
            setattr(self, name, arrays[name].copy())
        self.total, self.vocabulary = (int(n) for n in arrays["total"].tolist())
        for name in _TABLES:
            getattr(self, name).restore(name, arrays)


_PLAIN = ("offsets", "expected_offsets", "positions", "lengths", "lost")
_TABLES = ("queries", "keys", "pairs", "chance", "together")


def _most_frequent(count: Ints, most: int) -> NDArray[np.bool_]:
    """Which are the `most` largest counts, fewer than all; of equal ones the first."""
    met = np.bincount(np.minimum(count, len(count)))  # most counts are small and alike
    least = len(met) - 1 - int(np.searchsorted(np.cumsum(met[::-1]), most))
    if least == len(count):  # one of those that were not told apart
        least = np.sort(count)[len(count) - most]
    kept = count > least
    level = np.flatnonzero(count == least)
    kept[level[: most - int(kept.sum())]] = True
    return kept


def _sorted(codes: Ints) -> tuple[Ints, Ints]:
    """Codes in their order, equal ones as they came, and where each stood."""
    bits = len(codes).bit_length()
    if int(codes.min()) < 0 or int(codes.max()) >> (63 - bits):
        order = np.argsort(codes, kind="stable")
        return codes[order], order
    # with its place below it every code is one of a kind: numbers sort faster than their places
    placed = codes << bits | np.arange(len(codes))
    placed.sort()
    return placed >> bits, placed & ((1 << bits) - 1)
