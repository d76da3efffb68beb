"""Bootstrap intervals in one pass: every replicate counts each document a Poisson number of times.

Drawing n of n documents with replacement gives each a count that is Poisson(1) as n grows, and
independent counts need no second look at the documents (Chamandy et al. 2012).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.accumulator import Accumulator, Array


class Bootstrap:
    """An accumulator together with replicates of its mean."""

    def __init__(self, inner: Accumulator, heads: int, replicates: int, seed: int) -> None:
        self.inner = inner
        self._seed = seed
        self.sums = np.zeros((replicates, heads))
        self.counts = np.zeros((replicates, heads))

    def add(self, documents: NDArray[np.int64], values: Array) -> None:
        self.inner.add(documents, values)
        if values.ndim != 2:
            return  # not a mean of documents' values; its interval stays undefined
        drawn = np.stack([self._draws(int(number)) for number in documents], axis=1)
        defined = ~np.isnan(values)
        self.sums += drawn @ np.where(defined, values, 0.0)
        self.counts += drawn @ defined

    def merge(self, other: Accumulator) -> None:
        assert isinstance(other, Bootstrap)
        self.inner.merge(other.inner)
        self.sums += other.sums
        self.counts += other.counts

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        own: dict[str, NDArray[np.generic]] = {"sums": self.sums, "counts": self.counts}
        return {**{f"inner.{key}": array for key, array in self.inner.arrays().items()}, **own}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        self.sums = arrays["sums"].astype(np.float64)
        self.counts = arrays["counts"].astype(np.float64)
        self.inner.restore(
            {
                key.removeprefix("inner."): array
                for key, array in arrays.items()
                if key.startswith("inner.")
            }
        )

    def result(self) -> tuple[Array, Array, NDArray[np.int64]]:
        return self.inner.result()

    def interval(self, level: float) -> tuple[Array, Array]:
        """Percentile interval per head; nan where fewer than two documents have a value."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self.sums / self.counts
        _, _, count = self.inner.result()
        low = np.full(means.shape[1], np.nan)
        high = low.copy()
        enough = (count > 1) & (self.counts.sum(axis=0) > 0)
        if enough.any():
            tail = (1 - level) / 2
            low[enough], high[enough] = np.nanquantile(means[:, enough], [tail, 1 - tail], axis=0)
        return low, high

    def _draws(self, document: int) -> Array:
        # seeded by the document alone: the same counts for every statistic, split and machine
        chance = np.random.Generator(np.random.Philox(key=[self._seed, document]))
        return chance.poisson(1.0, len(self.sums)).astype(np.float64)
