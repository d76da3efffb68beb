"""Scores of all heads added up over documents: memory does not grow with the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.patterns.evidence import p_values
from headscope.roles.fields import Field
from headscope.roles.maps import UnitBatch
from headscope.roles.plans import Plan
from headscope.statistics.significance import Replicates

Array = NDArray[np.float64]
FARTHEST = 512  # units: farther offsets are counted as this far


class Totals:
    """Every head's scores so far, in every direction, with chance and position as baselines."""

    def __init__(self, field: Field, layers: int, heads: int, seed: int, replicates: int) -> None:
        self.field = field
        self.shape = len(field.metrics), len(field.directions), layers, heads
        self.replicates = Replicates(int(np.prod(self.shape)), seed, replicates)
        # excess over the null, its square, the null, its variance: direction layer head
        self.moments = np.zeros((4, *self.shape[1:]))
        self.offsets = np.zeros(2 * FARTHEST + 1)
        self.documents = self.cases = 0
        self.begin(())

    def begin(self, batch: tuple[Plan, ...] | UnitBatch) -> None:
        """Allocate memory for the documents of a batch."""
        plans = batch.plans if isinstance(batch, UnitBatch) else batch
        self._plans = plans
        self._sums = np.zeros((len(plans), *self.shape))
        self._counts = np.zeros((len(plans), *self.shape))
        self._null = np.zeros((2, len(plans), *self.shape[1:]))

    def add(self, metric: str, direction: str, layer: int, sums: Any, counts: Any) -> None:
        """Add b h sums and b (or b h) counts of one layer."""
        at = self.field.metrics.index(metric), self.field.directions.index(direction), layer
        self._sums[(slice(None), *at)] = np.asarray(sums)
        counted = np.asarray(counts)
        self._counts[(slice(None), *at)] = counted if counted.ndim == 2 else counted[:, None]

    def add_null(self, direction: str, layer: int, mean: Any, variance: Any) -> None:
        """Add b h each: precision with shuffled labels, and its variance."""
        at = slice(None), self.field.directions.index(direction), layer
        self._null[0][at], self._null[1][at] = np.asarray(mean), np.asarray(variance)

    def end(self) -> None:
        """Add the batch to the totals."""
        plans = self._plans
        numbers = np.array([one.number for one in plans], np.int64)
        flat = len(plans), int(np.prod(self.shape))
        if not plans:
            return
        self.replicates.add_units(numbers, self._sums.reshape(flat), self._counts.reshape(flat))
        at = self.field.metrics.index("precision")
        share = self._sums[:, at] / np.maximum(self._counts[:, at], 1)
        excess = share - self._null[0]
        self.moments += np.stack(
            [excess.sum(0), np.square(excess).sum(0), self._null[0].sum(0), self._null[1].sum(0)]
        )
        for one in plans:
            cases = np.flatnonzero(one.cases)
            row, key = np.nonzero(one.right[cases] & one.allowed[cases])
            away = np.clip(key - one.at[cases[row]], -FARTHEST, FARTHEST).astype(int) + FARTHEST
            self.offsets += np.bincount(away, minlength=len(self.offsets))
            self.cases += len(cases)
        self.documents += len(plans)
        self.begin(())

    def scores(self, metric: str) -> Array:
        """direction layer head, over all documents."""
        sums, counts, _ = self.replicates.whole.reshape(3, *self.shape)
        at = self.field.metrics.index(metric)
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums[at] / counts[at]

    def intervals(self, metric: str) -> Array:
        """2 direction layer head: the ends of 95 % intervals over documents."""
        share = metric in ("precision", "alignment error rate")
        with np.errstate(invalid="ignore"):  # of other measures, which may exceed 1 and are cut off
            found = self.replicates.interval(share=share).reshape(2, *self.shape)
        return found[:, self.field.metrics.index(metric)]

    def by_chance(self) -> tuple[Array, Array]:
        """direction layer head each: precision by shuffled labels, and p of the excess over it."""
        n = max(self.documents, 1)
        excess, square, null, variance = self.moments / n
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(np.maximum(square - excess**2, 0) / max(n - 1, 1))
        return null, p_values(excess, error, variance, np.full(excess.shape, float(n)))

    @property
    def by_position(self) -> tuple[float, int]:
        """The precision of always choosing the same offset, and which offset is best."""
        best = int(self.offsets.argmax())
        return float(self.offsets[best] / max(self.cases, 1)), best - FARTHEST

    def arrays(self) -> dict[str, NDArray[Any]]:
        seen = np.array([self.documents, self.cases])
        own = {"moments": self.moments, "offsets": self.offsets, "seen": seen}
        return {**own, **self.replicates.arrays()}

    def restore(self, arrays: dict[str, Any]) -> None:
        self.replicates.restore({name: arrays[name] for name in ("sums", "counts", "whole")})
        self.moments, self.offsets = arrays["moments"].copy(), arrays["offsets"].copy()
        self.documents, self.cases = (int(number) for number in arrays["seen"])
