"""The heaviest keys of single rows, looked up for the places that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call
from headscope.statistics.device_copies import Fetched, sent
from headscope.statistics.features.grid import Grid
from headscope.statistics.kernels.scores import block_weights, rows_of_heads

BLOCK = 128  # queries made together on a processor
SPAN = 512  # rows looked up together where their weights were kept
MOST = 2**26  # keys' numbers held at once on a GPU: 256 MB
KeptCalls = Sequence[tuple[Call, Tensor | None]]  # calls, and their weights where not rebuilt


class Heaviest:
    """Rows of a batch, named by head (through all layers), row of the batch and query."""

    def __init__(self, grid: Grid, kept: KeptCalls, count: int) -> None:
        self._grid, self._kept, self._count = grid, kept, count
        self._queries = grid.query.ids.shape[1]
        self._heads = sum(call.heads for call, _ in kept)

    def codes(self, heads: NDArray[np.int64], rows: NDArray[np.int64], queries: NDArray[np.int64]):
        """One number for each; any shapes that go together."""
        return (rows * self._queries + queries) * self._heads + heads

    def __call__(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """n × count keys and their weights, heaviest first; -1 and 0 where there are fewer."""
        if self._grid.on_gpu:
            return self.together(codes)
        wanted, place = np.unique(codes, return_inverse=True)
        place_in_text, head = np.divmod(wanted, self._heads)
        row, query = np.divmod(place_in_text, self._queries)
        keys = np.full((len(wanted), self._count), -1, dtype=np.int32)
        weights = np.zeros((len(wanted), self._count), dtype=np.float32)
        first = 0
        for call, own in self._kept:
            mine = np.flatnonzero((head >= first) & (head < first + call.heads))
            for some, rows in self._rows(call, own, row[mine], head[mine] - first, query[mine]):
                found = heaviest(rows, self._count)
                at = mine[some]
                keys[at, : found[0].shape[1]], weights[at, : found[1].shape[1]] = found
            first += call.heads
        return keys[place.ravel()], weights[place.ravel()]

    def together(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The same with all rows of a layer in a few steps, and one copy to main memory."""
        if not len(codes):
            return np.zeros((0, self._count), np.int32), np.zeros((0, self._count), np.float32)
        counts = [call.heads for call, _ in self._kept]
        ends = np.cumsum(counts)
        layer = np.repeat(np.arange(len(counts), dtype=np.uint16), counts)[codes % self._heads]
        order = np.argsort(layer, kind="stable")  # layer by layer
        stops = np.append(0, np.cumsum(np.bincount(layer, minlength=len(counts))))
        of_code, into = sent(np.stack([codes[order], order]), self._grid.key.ids.device)
        place_in_text, head = of_code // self._heads, of_code % self._heads
        at = torch.stack(
            [place_in_text // self._queries, head, place_in_text % self._queries, into]
        )
        both: Tensor | None = None  # n 2 count: weights' bits and keys
        for number, (call, own) in enumerate(self._kept):
            first = int(ends[number]) - call.heads
            span = max(1, MOST // (self._grid.key.ids.shape[1] * _width(call)))
            for start in range(stops[number], stops[number + 1], span):
                some = at[:, start : min(start + span, stops[number + 1])]
                rows = rows_of_heads(call, own, self._grid, some[0], some[1] - first, some[2])
                found = heaviest_bits(rows, self._count)
                if both is None:
                    both = found.new_empty(len(codes), *found.shape[1:])
                both[some[3]] = found
        assert both is not None
        found = Fetched.of(both).values.numpy()
        keys, weights = found[:, 1], found[:, 0].view(np.float32)
        if found.shape[2] == self._count:
            return keys, weights
        wide = ((0, 0), (0, self._count - found.shape[2]))
        return np.pad(keys, wide, constant_values=-1), np.pad(weights, wide)

    def _rows(
        self,
        call: Call,
        own: Tensor | None,
        row: NDArray[np.int64],  # in order
        head: NDArray[np.int64],
        query: NDArray[np.int64],
    ) -> Iterator[tuple[slice, Tensor]]:
        """Some of the rows asked for, and their weights, n s."""
        if own is not None:
            for start in range(0, len(row), SPAN):
                some = slice(start, start + SPAN)
                at = (torch.from_numpy(of[some]) for of in (row, head, query))
                yield some, own[tuple(at)].float()
            return
        # whole blocks of queries, whoever is asked for: a product's last bit depends on its shape,
        # and what is asked for on what came before, which is not the same for every worker
        blocks = -(-self._queries // BLOCK)
        stretch, starts = np.unique(row * blocks + query // BLOCK, return_index=True)
        ends = np.append(starts, len(row))[1:]
        for which, start, end in zip(stretch, starts, ends, strict=True):
            document, block = divmod(int(which), blocks)
            some, first = slice(int(start), int(end)), block * BLOCK
            queries = slice(first, min(first + BLOCK, self._queries))
            one = slice(document, document + 1)
            made = block_weights(call, self._grid, one, queries)
            yield some, made[0, torch.from_numpy(head[some]), torch.from_numpy(query[some] - first)]


def _width(call: Call) -> int:
    """Numbers of a row that are held for each key."""
    if call.k is None:
        return 1
    return call.k.shape[3] * (call.heads if call.sinks is not None else 1)


def heaviest(rows: Tensor, count: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The heaviest keys of rows (n s) and their weights, of equal ones the first; -1 and 0 where
    there is no weight."""
    count = min(count, rows.shape[1])
    # the bits of a weight, which is never negative, are in its order; its place below them
    # goes down, so that one plain sort puts the first of equal weights last
    bits = np.empty((*rows.shape, 2), dtype=np.uint32)
    bits[..., 0] = np.arange(rows.shape[1], dtype=np.uint32)[::-1]
    bits.view(np.float32)[..., 1] = rows.numpy()
    bits.view(np.uint64)[..., 0].sort(axis=1)
    last = bits[:, : -count - 1 : -1]
    keys = rows.shape[1] - 1 - last[..., 0].astype(np.int64)
    weights = last[..., 1].copy().view(np.float32)
    there = weights > 0
    return np.where(there, keys, -1).astype(np.int32), np.where(there, weights, np.float32(0))


def heaviest_bits(rows: Tensor, count: int) -> Tensor:
    """The same where the rows are, n 2 count of 32 bits each: weights, and keys."""
    last = rows.shape[1] - 1
    places = torch.arange(last, -1, -1, device=rows.device)
    codes = (rows.view(torch.int32).long() << 32) | places
    best = codes.topk(min(count, rows.shape[1]), dim=1).values  # no two are equal
    weights = (best >> 32).int()
    there = weights > 0  # as of the numbers that they are the bits of
    keys = torch.where(there, last - (best & 0xFFFFFFFF).int(), -1)
    return torch.stack([torch.where(there, weights, 0), keys], 1)
