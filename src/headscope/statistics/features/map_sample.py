"""A bounded sample of small maps, for statistics that need the mean before the deviations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.accumulator import Accumulator, Array

MOST = 256  # documents kept


class MapSample:
    """The maps of the documents whose numbers hash lowest, the same in any order and split."""

    def __init__(self, heads: int, size: int) -> None:
        self.documents = np.zeros(0, dtype=np.int64)
        self.maps = np.zeros((0, heads, size), dtype=np.float32)

    def add(self, documents: NDArray[np.int64], values: Array) -> None:
        defined = ~np.isnan(values).any(axis=(1, 2))
        self._keep(documents[defined], values[defined].astype(np.float32))

    def merge(self, other: Accumulator) -> None:
        assert isinstance(other, MapSample)
        self._keep(other.documents, other.maps)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {"documents": self.documents, "maps": self.maps}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        self.documents = arrays["documents"].astype(np.int64)
        self.maps = arrays["maps"].astype(np.float32)

    def result(self) -> tuple[Array, Array, NDArray[np.int64]]:
        heads, kept = self.maps.shape[1], len(self.documents)
        if kept == 0:
            return np.full(heads, np.nan), np.full(heads, np.nan), np.zeros(heads, np.int64)
        maps = self.maps.astype(np.float64)
        moved = np.abs(maps - maps.mean(axis=0)).sum(axis=2)  # documents heads
        whole = 2 * maps.sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = moved.sum(axis=0) / whole.sum(axis=0)
            # the standard error of a ratio of means, to first order
            residual = moved - value * whole
            error = np.sqrt((residual**2).sum(axis=0) / (kept - 1) / kept) / whole.mean(axis=0)
        return value, error, np.full(heads, kept, dtype=np.int64)

    def _keep(self, documents: NDArray[np.int64], maps: NDArray[np.float32]) -> None:
        every = np.concatenate([self.documents, documents])
        maps = np.concatenate([self.maps, maps])
        order = np.lexsort((every, _hash(every)))[:MOST]
        self.documents, self.maps = every[order], maps[order]


def _hash(documents: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A fixed scramble of document numbers (the finaliser of SplitMix64)."""
    mixed = documents.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
