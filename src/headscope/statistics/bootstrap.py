"""An accumulator with bootstrap replicates of its mean over documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.accumulator import Accumulator, Array
from headscope.statistics.replicates import Replicates


class BootstrapAccumulator:
    """What another accumulator counts, and an interval around it."""

    def __init__(self, inner: Accumulator, heads: int, replicates: int, seed: int) -> None:
        self.inner = inner
        self.replicates = Replicates(heads, seed, replicates)

    def add(self, documents: NDArray[np.int64], values: Array) -> None:
        self.inner.add(documents, values)
        if values.ndim != 2:
            return  # not a mean of documents' values; its interval stays undefined
        defined = ~np.isnan(values)
        sums, counts = np.where(defined, values, 0.0), defined.astype(np.float64)
        self.replicates.add_units(documents, sums, counts)

    def merge(self, other: Accumulator) -> None:
        assert isinstance(other, BootstrapAccumulator)
        self.inner.merge(other.inner)
        self.replicates.merge(other.replicates)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        inner = {f"inner.{key}": array for key, array in self.inner.arrays().items()}
        return {**inner, **self.replicates.arrays()}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        self.replicates.restore(arrays)
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
        """Interval per head; NaN where too few documents have a value."""
        low, high = self.replicates.interval(level)
        return low, high
