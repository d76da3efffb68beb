"""Scores of all heads added up over documents: memory does not grow with the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.patterns.evidence import p_values
from headscope.roles.fields import LOWER, Field
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
        # excess over the null, its square, the null, its variance: metric direction layer head
        self.moments = np.zeros((4, len(field.tested), *self.shape[1:]))
        # right at each offset; for fields that choose pairs, labels and pairs at each offset
        self.offsets = np.zeros((3, 2 * FARTHEST + 1))
        self.documents = self.cases = 0
        self.wanted = np.zeros(2)  # sure links, or the pairs of L/5; for words, error and count
        self.begin(())

    def begin(self, batch: tuple[Plan, ...] | UnitBatch) -> None:
        """Allocate memory for the documents of a batch."""
        plans = batch.plans if isinstance(batch, UnitBatch) else batch
        self._plans = plans
        self._sums = np.zeros((len(plans), *self.shape))
        self._counts = np.zeros((len(plans), *self.shape))
        self._null = np.zeros((2, len(plans), *self.moments.shape[1:]))

    def add(self, metric: str, direction: str, layer: int, sums: Any, counts: Any) -> None:
        """Add b h sums and b (or b h) counts of one layer."""
        at = self.field.metrics.index(metric), self.field.directions.index(direction), layer
        self._sums[(slice(None), *at)] = np.asarray(sums)
        counted = np.asarray(counts)
        self._counts[(slice(None), *at)] = counted if counted.ndim == 2 else counted[:, None]

    def add_null(self, metric: str, direction: str, layer: int, mean: Any, variance: Any) -> None:
        """Add b h each: the score with shuffled labels, and its variance."""
        way = self.field.directions.index(direction)
        at = slice(None), self.field.tested.index(metric), way, layer
        self._null[0][at], self._null[1][at] = np.asarray(mean), np.asarray(variance)

    def end(self) -> None:
        """Add the batch to the totals."""
        plans = self._plans
        numbers = np.array([one.number for one in plans], np.int64)
        flat = len(plans), int(np.prod(self.shape))
        if not plans:
            return
        self.replicates.add_units(numbers, self._sums.reshape(flat), self._counts.reshape(flat))
        at = [self.field.metrics.index(metric) for metric in self.field.tested]
        score = self._sums[:, at] / np.maximum(self._counts[:, at], 1)
        better = np.array([-1 if metric in LOWER else 1 for metric in self.field.tested])
        excess = (score - self._null[0]) * better[:, None, None, None]
        self.moments += np.stack(
            [excess.sum(0), np.square(excess).sum(0), self._null[0].sum(0), self._null[1].sum(0)]
        )
        for one in plans:
            self._by_offset(one)
        self.documents += len(plans)
        self.begin(())

    def _by_offset(self, one: Plan) -> None:
        """Count what lies at each offset."""
        right = one.right & one.allowed
        self._count(0, right & one.cases[:, None], one)
        self.cases += int(one.cases.sum())
        if self.field.metric == "time error":
            self.wanted += one.extra.error(one.extra.evenly()), len(one.extra.truth)
        elif self.field.metric != "precision":
            self._count(1, right.astype(float) + (one.possible & one.allowed), one)
            self._count(2, one.allowed, one)
            self.wanted += right.sum(), max(1, len(one.keys) // 5)

    def _count(self, row: int, labels: NDArray[Any], one: Plan) -> None:
        query, key = np.nonzero(labels)
        away = np.clip(key - one.at[query], -FARTHEST, FARTHEST).astype(int) + FARTHEST
        weights = labels[query, key].astype(float)
        self.offsets[row] += np.bincount(away, weights, minlength=self.offsets.shape[1])

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
        """metric direction layer head each: scores by shuffled labels, and p of the excess."""
        n = max(self.documents, 1)
        excess, square, null, variance = self.moments / n
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(np.maximum(square - excess**2, 0) / max(n - 1, 1))
        return null, p_values(excess, error, variance, np.full(excess.shape, float(n)))

    @property
    def by_position(self) -> tuple[float, int]:
        """The precision of always choosing the same offset, and which offset is best."""
        best = int(self.offsets[0].argmax())
        return float(self.offsets[0, best] / max(self.cases, 1)), best - FARTHEST

    def baseline(self, metric: str) -> float:
        """The score of the best fixed offset; of words' times, that of equally long tokens."""
        _, labels, pairs = self.offsets
        if metric == "precision":
            return self.by_position[0]
        if metric == "alignment error rate":
            return float(1 - (labels / np.maximum(pairs + self.wanted[0], 1)).max())
        if metric == "precision at L/5":
            enough = pairs >= self.wanted[1]  # few pairs of far residues touch by luck
            return float(np.max(labels[enough] / 2 / pairs[enough], initial=0.0))
        if metric == "time error":
            return float(self.wanted[0] / max(self.wanted[1], 1))
        return float("nan")

    def arrays(self) -> dict[str, NDArray[Any]]:
        seen = np.array([self.documents, self.cases])
        own = {
            "moments": self.moments,
            "offsets": self.offsets,
            "seen": seen,
            "wanted": self.wanted,
        }
        return {**own, **self.replicates.arrays()}

    def restore(self, arrays: dict[str, Any]) -> None:
        self.replicates.restore({name: arrays[name] for name in ("sums", "counts", "whole")})
        self.moments, self.offsets = arrays["moments"].copy(), arrays["offsets"].copy()
        self.wanted = arrays["wanted"].copy()
        self.documents, self.cases = (int(number) for number in arrays["seen"])
