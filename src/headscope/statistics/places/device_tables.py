"""Sums by code while they are on a GPU, as those of `CountTable`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from headscope.statistics.places.counts import UNIT

if TYPE_CHECKING:
    from headscope.statistics.places.counts import CountTable

TABLES = 32  # as many as a GPU's threads that go in step
DENSE = 2**24  # codes, up to which every one has its place: 400 MB


class DeviceTable(Protocol):
    """Counts, sums and sums of squares (3 × n, whole numbers) by code (n)."""

    def add(self, codes: Tensor, sums: Tensor) -> None: ...
    def into(self, table: CountTable) -> None: ...


class DenseTable:
    """Of few codes: a place for each, so that nothing is sorted or waited for."""

    def __init__(self, codes: int, device: torch.device) -> None:
        self._sums = torch.zeros(3, codes, dtype=torch.long, device=device)

    def add(self, codes: Tensor, sums: Tensor) -> None:
        # whole numbers: whoever is added first, the sum is the same
        self._sums.scatter_add_(1, codes.expand(3, -1), sums)

    def into(self, table: CountTable) -> None:
        codes = self._sums[0].nonzero()[:, 0]
        table.add_counted(codes.cpu().numpy(), *self._sums[:, codes].cpu().numpy())


class SortedTable:
    """Of any codes: those that occur, sorted."""

    def __init__(self, device: torch.device) -> None:
        self.codes = torch.zeros(0, dtype=torch.long, device=device)
        self.sums = torch.zeros(3, 0, dtype=torch.long, device=device)

    def add(self, codes: Tensor, sums: Tensor) -> None:
        ordered, order = torch.cat([self.codes, codes]).sort()
        last = torch.ones_like(ordered, dtype=torch.bool)
        last[:-1] = ordered[1:] != ordered[:-1]
        ends = last.nonzero()[:, 0]
        self.codes = ordered[ends]
        every = torch.cat([self.sums, sums], dim=1)
        # differences of running sums: no two threads wait for one place
        running = (of[order].cumsum(0)[ends] for of in every)
        self.sums = torch.stack([of.diff(prepend=of.new_zeros(1)) for of in running])

    def keep(self, kept: Tensor) -> None:
        at = kept.nonzero()[:, 0]
        self.codes, self.sums = self.codes[at], self.sums[:, at]

    def into(self, table: CountTable) -> None:
        table.add_counted(self.codes.cpu().numpy(), *self.sums.cpu().numpy())


def table_of(codes: int, device: torch.device) -> DeviceTable:
    return DenseTable(codes, device) if codes <= DENSE else SortedTable(device)


def most_frequent(
    count: Tensor, group: Tensor, groups: int, most: int, total: int
) -> tuple[Tensor, Tensor]:
    """Which are the `most` largest counts of each group (whose members stand together), of equal
    ones the first; and the largest count of each group that is none of them.

    `total` is at least the sum of a group's counts. It bounds the least count that is kept, so
    that counts of counts tell it and nothing is sorted.
    """
    cap = total // most + 1  # `most` counts as large as this would be more than the total
    capped = count.clamp_max(cap)
    met = torch.bincount(group * (cap + 1) + capped, minlength=groups * (cap + 1))
    met = met.view(groups, cap + 1)
    at_least = met.flip(1).cumsum(1).flip(1)  # how many have a count, or a larger one
    least = (at_least >= most).sum(1) - 1  # -1: all are kept
    above = torch.cat([at_least, at_least.new_zeros(groups, 1)], 1)
    room = most - above.gather(1, least[:, None] + 1)[:, 0]
    of_member = least[group]
    level = capped == of_member
    before = torch.cat([room.new_zeros(1), level.cumsum(0)])
    starts = at_least[:, 0].cumsum(0) - at_least[:, 0]
    rank = before[1:] - before[starts][group]  # among those of the same count, from 1
    kept = (capped > of_member) | (level & (rank <= room[group]))
    counts = torch.arange(cap + 1, device=count.device)
    gone = torch.where(counts < least[:, None], met, 0)
    gone.scatter_add_(1, least.clamp_min(0)[:, None], _gone_of_level(met, least, room))
    return kept, ((gone > 0) * counts).amax(1)


def _gone_of_level(met: Tensor, least: Tensor, room: Tensor) -> Tensor:
    """groups × 1: how many of the least count that is kept are not kept."""
    level = met.gather(1, least.clamp_min(0)[:, None])[:, 0]
    return torch.where(least < 0, 0, level - room)[:, None]


def tallied(codes: Tensor, first: Tensor, size: int) -> Tensor:
    """size: how often each code is met, a `first` added to all (both go together).

    Most are often one and the same. Those side by side count in tables of their own, so that they
    do not wait for one another.
    """
    table = torch.arange(codes.shape[-1], device=codes.device) % TABLES * size
    at = (codes + (first + table)).flatten()
    counts = torch.zeros(TABLES * size, dtype=torch.int32, device=codes.device)
    counts.scatter_add_(0, at, counts.new_ones(1).expand_as(at))
    return counts.view(TABLES, size).sum(0)


def in_units(weights: Tensor) -> Tensor:
    """Numbers as multiples of the unit."""
    return weights.double().div_(UNIT).round_().long()


def counted(weights: Tensor) -> Tensor:
    """3 × n: one each, its weight and the square of it, in whole units."""
    exact = weights.double()
    units = in_units(torch.stack([exact, exact.square()]))
    return torch.cat([torch.ones_like(units[:1]), units])
