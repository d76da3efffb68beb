"""Intervals for accuracies, gathered while the data streams by.

Each sentence (or document) gets a Poisson(1) weight in every replicate, which is what drawing
with replacement comes to for large data; nothing but the replicates' sums is kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

REPLICATES = 1000


class Bootstrap:
    """Replicated sums of hits and counts for a row of quantities."""

    def __init__(self, width: int, seed: int = 0, replicates: int = REPLICATES) -> None:
        self.hits = np.zeros((replicates, width))
        self.counts = np.zeros((replicates, width))
        self.seed = seed

    def add(self, hits: NDArray[np.float64], counts: NDArray[np.float64], batch: int) -> None:
        """Take a batch, units × width each; its number makes the draws repeatable."""
        generator = np.random.default_rng([self.seed, batch])
        weights = generator.poisson(1.0, size=(len(self.hits), len(hits))).astype(np.float64)
        self.hits += weights @ hits
        self.counts += weights @ counts

    def interval(self, level: float = 0.95) -> NDArray[np.float64]:
        """2 × width: the lower and upper end; nan where nothing was counted."""
        with np.errstate(invalid="ignore", divide="ignore"):
            accuracy = self.hits / self.counts
        tail = (1 - level) / 2 * 100
        out = np.full((2, accuracy.shape[1]), np.nan)
        counted = self.counts.sum(axis=0) > 0
        out[:, counted] = np.nanpercentile(accuracy[:, counted], [tail, 100 - tail], axis=0)
        return out
