"""Accumulators: take documents' values, return a value with its error; parts merge exactly."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.significance import FEWEST, Replicates

Array = NDArray[np.float64]


class Accumulator(Protocol):
    """State of fixed size: the memory of a survey does not grow with its corpus."""

    def add(self, documents: NDArray[np.int64], values: Array) -> None:
        """Add values (documents × heads …); NaN means undefined for that document."""
        ...

    def merge(self, other: Accumulator) -> None:
        """Add another accumulator of the same kind."""
        ...

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The whole state, for a file or another machine."""
        ...

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Resume from a saved state."""
        ...

    def result(self) -> tuple[Array, Array, NDArray[np.int64]]:
        """Value, standard error over documents (NaN below `FEWEST`), their number, per head."""
        ...


class Moments:
    """Mean and standard deviation over documents, per head.

    Stored as count, mean and sum of squared deviations, which stays exact for nearly equal values,
    unlike a sum of squares; merging follows Chan et al. (1979).
    """

    def __init__(self, heads: int) -> None:
        self.count = np.zeros(heads, dtype=np.int64)
        self.mean = np.zeros(heads)
        self.deviations = np.zeros(heads)

    def add(self, documents: NDArray[np.int64], values: Array) -> None:
        part = Moments(len(self.mean))
        total = values.sum(axis=0)
        if not np.isnan(total).any():  # the same as below, three times as fast
            part.count = np.full(len(self.mean), len(values), dtype=np.int64)
            part.mean = total / max(1, len(values))
            apart = values - part.mean
        else:
            defined = ~np.isnan(values)
            part.count = defined.sum(axis=0)
            filled = np.where(defined, values, 0.0)
            part.mean = filled.sum(axis=0) / np.maximum(part.count, 1)
            apart = np.where(defined, filled - part.mean, 0.0)
        part.deviations = (apart * apart).sum(axis=0)
        self.merge(part)

    @staticmethod
    def known(count: Array, mean: Array, deviations: Array) -> Moments:
        """From documents' known count, mean and squared deviations."""
        part = Moments(len(mean))
        part.count, part.mean, part.deviations = count.astype(np.int64), mean, deviations
        return part

    def merge(self, other: Accumulator) -> None:
        assert isinstance(other, Moments)
        count = self.count + other.count
        step = other.mean - self.mean
        share = other.count / np.maximum(count, 1)
        self.mean = self.mean + step * share
        self.deviations = self.deviations + other.deviations + step**2 * self.count * share
        self.count = count

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {"count": self.count, "mean": self.mean, "deviations": self.deviations}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        self.count = arrays["count"].astype(np.int64)
        self.mean = arrays["mean"].astype(np.float64)
        self.deviations = arrays["deviations"].astype(np.float64)

    def result(self) -> tuple[Array, Array, NDArray[np.int64]]:
        value = np.where(self.count > 0, self.mean, np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(self.deviations / (self.count - 1) / self.count)
        return value, np.where(self.count >= FEWEST, error, np.nan), self.count


class BootstrapAccumulator:
    """An accumulator with bootstrap replicates of its mean over documents."""

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
        """Interval per head; NaN if too few documents have a value."""
        low, high = self.replicates.interval(level)
        return low, high
