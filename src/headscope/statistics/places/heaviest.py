"""The heaviest keys of single rows, looked up for the places that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call
from headscope.statistics.features.grid import Grid
from headscope.statistics.kernels.scores import row_weights

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
        wanted, place = np.unique(codes, return_inverse=True)
        place_in_text, head = np.divmod(wanted, self._heads)
        row, query = np.divmod(place_in_text, self._queries)
        keys = np.full((len(wanted), self._count), -1, dtype=np.int32)
        weights = np.zeros((len(wanted), self._count), dtype=np.float32)
        starts = np.searchsorted(row, np.arange(len(self._grid.documents) + 1))
        first = 0
        for call, own in self._kept:
            for document in np.flatnonzero(np.diff(starts)):
                mine = np.arange(starts[document], starts[document + 1])
                mine = mine[(head[mine] >= first) & (head[mine] < first + call.heads)]
                if len(mine):
                    found = self._rows(call, own, int(document), head[mine] - first, query[mine])
                    keys[mine, : found[0].shape[1]], weights[mine, : found[1].shape[1]] = found
            first += call.heads
        return keys[place.ravel()], weights[place.ravel()]

    def _rows(
        self,
        call: Call,
        own: Tensor | None,
        document: int,
        heads: NDArray[np.int64],
        queries: NDArray[np.int64],
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        asked, which = np.unique(queries, return_inverse=True)
        made = row_weights(call, own, self._grid, document, torch.from_numpy(asked))  # h r s
        chosen = made[
            torch.from_numpy(heads).to(made.device), torch.from_numpy(which).to(made.device)
        ]
        value, index = chosen.topk(min(self._count, chosen.shape[1]), dim=1)
        there = value > 0
        return (
            torch.where(there, index, -1).cpu().numpy().astype(np.int32),
            torch.where(there, value, 0).cpu().numpy(),
        )
