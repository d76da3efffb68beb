"""Bootstrap replicates in one pass: every replicate counts each unit a Poisson number of times.

Drawing n of n units (documents, sentences) with replacement gives each a count that is Poisson(1)
as n grows, and independent counts need no second look at the units (Chamandy et al. 2012). Only
sums are kept, so memory does not grow with the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
REPLICATES = 1000


class Replicates:
    """Replicated sums of values and of their counts, for a row of quantities."""

    def __init__(self, width: int, seed: int = 0, replicates: int = REPLICATES) -> None:
        self.seed = seed
        self.sums = np.zeros((replicates, width))
        self.counts = np.zeros((replicates, width))

    def add_units(self, numbers: NDArray[np.int64], sums: Array, counts: Array) -> None:
        """Take units (units × width each) whose draws are seeded by their own number.

        The same counts for every statistic, split and machine.
        """
        drawn = [
            np.random.Generator(np.random.Philox(key=[self.seed, int(number)]))
            .poisson(1.0, len(self.sums))
            .astype(np.float64)
            for number in numbers
        ]
        self._add(np.stack(drawn, axis=1), sums, counts)

    def add_batch(self, batch: int, sums: Array, counts: Array) -> None:
        """Take the units of a batch, whose number makes the draws repeatable."""
        generator = np.random.default_rng([self.seed, batch])
        drawn = generator.poisson(1.0, size=(len(self.sums), len(sums))).astype(np.float64)
        self._add(drawn, sums, counts)

    def _add(self, drawn: Array, sums: Array, counts: Array) -> None:
        self.sums += drawn @ sums
        self.counts += drawn @ counts

    def merge(self, other: Replicates) -> None:
        self.sums += other.sums
        self.counts += other.counts

    def interval(self, level: float = 0.95) -> Array:
        """2 × width: the lower and upper end of a percentile interval; nan where nothing counts."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self.sums / self.counts
        found = np.full((2, means.shape[1]), np.nan)
        counted = self.counts.sum(axis=0) > 0
        if counted.any():
            tail = (1 - level) / 2
            found[:, counted] = np.nanquantile(means[:, counted], [tail, 1 - tail], axis=0)
        return found
