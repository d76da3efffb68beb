"""A sink that keeps the data for comparing the maps of all layers after a pass."""

from __future__ import annotations

import dataclasses
import math
import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call, Kind, Output
from headscope.capture.call import Lazy
from headscope.corpus.text.batches import sent
from headscope.statistics.features.grid import Grid, scrambled
from headscope.statistics.features.rows import Fetched
from headscope.statistics.kernels.blocks import blocks
from headscope.statistics.kernels.jensen_shannon import divergence_sums
from headscope.statistics.kernels.recorder import Recorder
from headscope.statistics.kernels.scores import block_weights, row_weights, rows_of_texts


class KeptScores:
    """Memory for q and k of every layer of a batch, or its weights; the next batch reuses it.

    The model's own tensors would fragment memory between the layers' temporary ones, and a process
    would need a third more memory (`_pages`).
    """

    def __init__(self) -> None:
        self._room: dict[tuple[str, int], Tensor] = {}  # name, number of the batch's call

    def for_weights(self, call: Call, number: int) -> Tensor | None:
        """b h t s float32, to be filled: if weights need no more memory than q and k, as for short
        texts, keeping them is cheaper than computing them again."""
        assert call.q is not None and call.k is not None
        shape = (*call.q.shape[:3], call.k.shape[2])
        if call.q.device.type != "cpu" or math.prod(shape) > call.q.numel() + call.k.numel():
            return None
        held = self._held(math.prod(shape), torch.float32, ("weights", number))
        return held[: math.prod(shape)].view(shape)

    def of(self, call: Call, number: int, weights: Tensor | None = None) -> Call:
        """The call with its own q and k, or its weights, until the next call of that number."""
        assert call.q is not None and call.k is not None
        if call.q.device.type != "cpu":  # torch manages a GPU's memory
            return call
        return dataclasses.replace(
            call,
            q=self._copied(call.q, ("q", number)) if weights is None else None,
            k=self._copied(call.k, ("k", number)) if weights is None else None,
            v=None,
            lazy_mask=Lazy.of(None),
            lazy_weights=Lazy.of(weights),
            lazy_rows=None,
            given_mask=None,
        )

    def _copied(self, tensor: Tensor, at: tuple[str, int]) -> Tensor:
        tensor = tensor.detach()
        held = self._held(tensor.numel(), tensor.dtype, at)
        # same layout, so that its products are equal to the last bit
        strides = torch.empty_like(tensor, device="meta").stride()
        return held.as_strided(tensor.shape, strides).copy_(tensor)

    def _held(self, count: int, dtype: torch.dtype, at: tuple[str, int]) -> Tensor:
        held = self._room.get(at)
        if held is None or held.dtype != dtype or held.numel() < count:
            pages = _pages(count * dtype.itemsize)
            held = self._room[at] = torch.from_numpy(pages).view(dtype)
        return held


def _pages(size: int) -> NDArray[np.uint8]:
    """Zeros on separate pages, which return to the system with the array."""
    return np.frombuffer(mmap.mmap(-1, max(1, size)), dtype=np.uint8, count=size)


MOST = 2**23  # weights of all heads in memory at once
MOST_GPU = 2**25
ALL_GPU = 2**26  # if all rows are compared

Heads = tuple[tuple[int, int], ...]


class MapKeeper:
    """Keeps q and k of calls that can be rebuilt, and the weights of all others and of short texts.

    With a `share` below 1, a seeded sample of that share of the rows represents all.
    """

    def __init__(
        self,
        grids: Mapping[Kind, Grid],
        recorder: Recorder,
        share: float = 1.0,
        seed: int = 0,
        room: KeptScores | None = None,
    ) -> None:
        self._grids = grids
        self._recorder = recorder
        self._share, self._seed = share, seed
        self._room, self._count = room or KeptScores(), 0
        self.kept: dict[Kind, list[tuple[Call, Tensor | None]]] = {}
        self._rows: dict[Kind, tuple[Tensor, Tensor]] = {}
        for kind, grid in grids.items():
            if kind != "cross" and 0 < share < 1 and grid.key.ids.is_cuda:
                self._rows[kind] = drawn_rows(grid, share, seed)
                recorder.keep_rows(kind, *self._rows[kind])

    def __call__(self, call: Call) -> Output | None:
        room = None
        if not self._recorder.rebuilds(call):
            kept, weights = call, call.weights.detach().float()
        else:
            room = self._room.for_weights(call, self._count)
            kept, weights = self._room.of(call, self._count, room), room
        self.kept.setdefault(call.kind, []).append((kept, weights))
        self._count += 1
        return self._recorder(call, room)

    def of(self, kind: Kind) -> KeptMaps:
        """The data of one kind of attention."""
        ready = self._recorder.kept_rows.pop(kind, [])
        share, seed, drawn = self._share, self._seed, self._rows.get(kind)
        return KeptMaps(self._grids[kind], self.kept[kind], share, seed, drawn, ready)

    def distances(self) -> Iterator[tuple[Kind, Heads, Fetched, int]]:
        """For each kind: its heads, the sums of divergences between them (float64, on their way
        here), the rows compared."""
        for kind in self.kept:
            if kind == "cross":
                continue
            kept = self.of(kind)
            sums, compared = kept.divergences()
            yield kind, kept.heads, Fetched.of(sums), compared


@dataclass(frozen=True)
class KeptMaps:
    """Computes the maps of one kind of attention of a batch: all rows, or some."""

    grid: Grid
    calls: list[tuple[Call, Tensor | None]]  # each with its weights, or None: computed from q and k
    share: float = 1.0  # of the rows, drawn by the seed, that represents all
    seed: int = 0
    drawn: tuple[Tensor, Tensor] | None = None  # documents and queries of those rows
    ready: list[Tensor] = field(default_factory=list[Tensor])  # their weights, where a kernel kept

    @cached_property
    def heads(self) -> Heads:
        counts = [(c.q if own is None else own).shape[1] for c, own in self.calls]  # pyright: ignore[reportOptionalMemberAccess]
        pairs = zip(self.calls, counts, strict=True)
        return tuple((call.layer, head) for (call, _), count in pairs for head in range(count))

    def divergences(self) -> tuple[Tensor, int]:
        """H H float64: the Jensen–Shannon divergences of any two heads, summed over the compared
        rows, and the number of rows."""
        heads = len(self.heads)
        sums, compared = torch.zeros(heads, heads, dtype=torch.float64), 0
        for part, lengths in self.rows():
            sums = sums.to(part.device) + divergence_sums(part, lengths)
            compared += part.shape[1]
        return sums, compared

    def rows(self) -> Iterator[tuple[Tensor, int | Tensor]]:
        """heads × some of the drawn queries × keys, and their numbers of keys."""
        kept, grid, heads = self.calls, self.grid, len(self.heads)
        if grid.key.ids.is_cuda and self.share >= 1:
            yield from _all_maps_of_batch(kept, grid, heads)
            return
        if grid.key.ids.is_cuda:
            drawn = self.drawn or drawn_rows(grid, self.share, self.seed)
            if len(self.ready) == len(kept):
                yield torch.cat(self.ready), grid.key.lengths[drawn[0]]
            else:
                yield from _maps_of_batch(kept, grid, heads, *drawn)
            return
        for row, length in enumerate(grid.query.lengths.tolist()):
            if self.share < 1:
                maps = _drawn_maps(kept, grid, row, length, self.share, self.seed)
            else:
                maps = _maps(kept, grid, row, length, heads)
            yield from ((part, length) for part in maps)


def _drawn_maps(
    kept: list[tuple[Call, Tensor | None]],
    grid: Grid,
    row: int,
    length: int,
    share: float,
    seed: int,
) -> Iterator[Tensor]:
    """heads × some queries × length: the rows of one document that are drawn."""
    queries = np.arange(length, dtype=np.int64)
    drawn = queries[scrambled(grid.documents[row : row + 1], queries, seed) < share]
    heads = sum(call.heads for call, _ in kept)
    span = max(1, MOST // (heads * length))
    for start in range(0, len(drawn), span):
        some = torch.from_numpy(drawn[start : start + span])
        rows = [row_weights(call, own, grid, row, some)[..., :length] for call, own in kept]
        yield torch.cat(rows)


def drawn_rows(grid: Grid, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Documents and queries of the compared rows of a batch."""
    wanted = grid.real_queries
    if share < 1:
        wanted = wanted & (grid.scrambled(seed) < share)
    document, query = sent(np.stack(np.nonzero(wanted)), grid.key.ids.device)
    return document, query


def _maps_of_batch(
    kept: list[tuple[Call, Tensor | None]],
    grid: Grid,
    heads: int,
    document: Tensor,
    query: Tensor,
) -> Iterator[tuple[Tensor, Tensor]]:
    """heads × some queries × keys, and each query's keys: rows of all documents together, which a
    GPU compares in a few large steps."""
    span = max(1, MOST_GPU // (heads * grid.key.ids.shape[1]))
    for start in range(0, len(document), span):
        some = (document[start : start + span], query[start : start + span])
        rows = [rows_of_texts(call, own, grid, *some).transpose(0, 1) for call, own in kept]
        yield torch.cat(rows), grid.key.lengths[some[0]]


def _all_maps_of_batch(
    kept: list[tuple[Call, Tensor | None]], grid: Grid, heads: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """The same of every query: the maps of some documents at a time."""
    queries, keys = grid.query.ids.shape[1], grid.key.ids.shape[1]
    for some, stretch in blocks(len(grid.documents), heads, queries, keys, ALL_GPU):
        every = (
            block_weights(call, grid, some, stretch)
            if weights is None
            else weights[some, :, stretch].float()
            for call, weights in kept
        )
        maps = torch.cat([of_layer.transpose(0, 1).flatten(1, 2) for of_layer in every])
        lengths = grid.key.lengths[some].repeat_interleave(stretch.stop - stretch.start)
        real = grid.real_queries[some, stretch]
        if not real.all():
            rows = sent(np.flatnonzero(real), maps.device)
            maps, lengths = maps[:, rows], lengths[rows]
        yield maps, lengths


def _maps(
    kept: list[tuple[Call, Tensor | None]], grid: Grid, row: int, length: int, heads: int
) -> Iterator[Tensor]:
    """heads × some queries × length: the maps of one document, without its padding."""
    span = max(1, min(length, MOST // (heads * length)))
    document = slice(row, row + 1)
    for start in range(0, length, span):
        queries = slice(start, min(length, start + span))
        parts = [
            (
                weights[row, :, queries, :length]
                if weights is not None
                else block_weights(call, grid, document, queries)[0, :, :, :length]
            )
            for call, weights in kept
        ]
        yield torch.cat(parts)
