"""The heaviest keys of single rows of attention, looked up for the examples that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call
from headscope.statistics.features.grid import Grid
from headscope.statistics.kernels.scores import row_weights, rows_of_heads

MOST = 2**26  # numbers of keys in a GPU's memory at once: 256 MB
Ints = NDArray[np.int64]
KeptCalls = Sequence[tuple[Call, Tensor | None]]  # calls, and weights unless computed again


def heaviest_keys(
    grid: Grid, kept: KeptCalls, rows: tuple[Ints, Ints, Ints], count: int, most: int = MOST
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """n × count keys and their weights, heaviest first; -1 and 0 where there are fewer.

    `rows` are the head (through all layers), the row of the batch and the query of each.
    """
    heads, queries = sum(call.heads for call, _ in kept), grid.query.ids.shape[1]
    # one row is often an example of several measures
    codes = (rows[1] * queries + rows[2]) * heads + rows[0]
    wanted, which = np.unique(codes, return_inverse=True)
    position, head = np.divmod(wanted, heads)
    row, query = np.divmod(position, queries)
    keys = np.full((len(wanted), count), -1, dtype=np.int32)
    weights = np.zeros(keys.shape, dtype=np.float32)
    first = 0
    for call, own in kept:
        mine = np.flatnonzero((head >= first) & (head < first + call.heads))
        asked = (row[mine], head[mine] - first, query[mine])
        make = partial(_on_device, most=most) if grid.on_gpu else _by_document
        for some, made in make(grid, call, own, *asked):
            its_keys, its_weights = heaviest(made, count)
            at, width = mine[some], its_keys.shape[1]
            keys[at, :width], weights[at, :width] = its_keys.cpu(), its_weights.cpu()
        first += call.heads
    return keys[which], weights[which]


def heaviest(rows: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The heaviest keys of rows (n s, float32) and their weights, ties to the first; -1 and 0 if a
    row has no weight."""
    last = rows.shape[1] - 1
    # bits of non-negative floats sort as the floats do; the key goes below them, in falling order
    falling = torch.arange(last, -1, -1, device=rows.device)
    best = ((rows.view(torch.int32).long() << 32) | falling).topk(min(count, last + 1)).values
    weights = (best >> 32).int().view(torch.float32)
    there = weights > 0
    return torch.where(there, last - (best & 0xFFFFFFFF).int(), -1), weights.where(there, 0.0)


def _by_document(
    grid: Grid, call: Call, own: Tensor | None, row: Ints, head: Ints, query: Ints
) -> Iterator[tuple[Ints, Tensor]]:
    """Some of the rows asked for, and their weights (n s): a text at a time, with all heads."""
    for document in np.unique(row).tolist():
        some = np.flatnonzero(row == document)
        queries, at = np.unique(query[some], return_inverse=True)
        made = row_weights(call, own, grid, document, torch.from_numpy(queries))  # h r s
        yield some, made[torch.from_numpy(head[some]), torch.from_numpy(at)]


def _on_device(
    grid: Grid, call: Call, own: Tensor | None, row: Ints, head: Ints, query: Ints, most: int
) -> Iterator[tuple[Ints, Tensor]]:
    """The same for all texts together, which a GPU does in a few large steps."""
    per_key = (
        1 if call.k is None else call.k.shape[3] * (call.heads if call.sinks is not None else 1)
    )
    span = max(1, most // (grid.key.ids.shape[1] * per_key))
    for start in range(0, len(row), span):
        some = np.arange(start, min(start + span, len(row)))
        at = (torch.from_numpy(of[some]).to(grid.key.ids.device) for of in (row, head, query))
        yield some, rows_of_heads(call, own, grid, *at)
