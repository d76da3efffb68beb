"""What of a difference is more than luck.

A development set of a few hundred examples and 144 heads makes noise look like discovery. So
every difference comes with a paired bootstrap interval, its p-value is corrected for the number
of comparisons, and heads chosen on one half of the examples are reported on the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headscope.statistics.significance import holm
from headscope.tasks.metrics import Metric

Array = np.ndarray
CHUNK = 500  # draws at a time: bounds memory at examples × 500


@dataclass(frozen=True)
class Differences:
    """Score minus baseline of every edit, each with a 95 % interval and p-values."""

    difference: Array  # e
    low: Array  # e
    high: Array  # e
    p: Array  # e, two-sided
    p_holm: Array  # e, corrected: the chance of any false alarm
    p_bh: Array  # e, corrected: the share of false alarms


def paired_bootstrap(
    metric: Metric,
    baseline: Array,  # n o
    edited: Array,  # e n o
    labels: Array,  # n
    draws: int = 10_000,
    seed: int = 0,
) -> Differences:
    """Resample examples (the same ones for the baseline and every edit) and look at the spread."""
    n, edits = len(labels), len(edited)
    sums = np.stack([metric.sums_of(answers, labels) for answers in (baseline, *edited)])
    parts = sums.shape[1]
    flat = np.ascontiguousarray(sums.reshape((edits + 1) * parts, n), dtype=np.float32)
    spread = np.empty((draws, edits), dtype=np.float32)
    generator = np.random.default_rng(seed)
    for start in range(0, draws, CHUNK):
        count = min(CHUNK, draws - start)
        times = generator.multinomial(n, np.full(n, 1 / n), size=count).astype(np.float32)
        drawn = (times @ flat.T).reshape(count, edits + 1, parts).astype(np.float64)
        values = metric.value(drawn)
        spread[start : start + count] = values[:, 1:] - values[:, :1]
    whole = metric.value(sums.sum(axis=-1))
    low, high = np.quantile(spread, [0.025, 0.975], axis=0)
    below = (1 + (spread <= 0).sum(axis=0)) / (1 + draws)
    above = (1 + (spread >= 0).sum(axis=0)) / (1 + draws)
    p = np.minimum(1.0, 2 * np.minimum(below, above))
    return Differences(whole[1:] - whole[0], low, high, p, holm(p), benjamini_hochberg(p))


def enough_draws(comparisons: int) -> int:
    """As many draws as let the least p-value there is survive correction for all comparisons."""
    return min(max(10_000, 200 * comparisons), 50_000)


def benjamini_hochberg(p: Array) -> Array:
    """Benjamini and Hochberg's step-up correction: controls the share of false alarms."""
    order = np.argsort(p)[::-1]
    stepped = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1.0, stepped)
    return corrected


@dataclass(frozen=True)
class SplitHalf:
    """The best and the worst edit chosen on one half of the examples, reported on the other."""

    chosen_best: float  # mean difference of the chosen edit where it was chosen
    reported_best: float  # the same edit's mean difference on the other half
    chosen_worst: float
    reported_worst: float
    agreement: float  # mean rank correlation of all edits' differences between the halves
    splits: int


def split_half(
    metric: Metric,
    baseline: Array,  # n o
    edited: Array,  # e n o
    labels: Array,  # n
    splits: int = 200,
    seed: int = 0,
) -> SplitHalf:
    """Over many random halvings: what remains of the best and the worst edit out of sample."""
    from headscope.tasks.metrics import ranks

    sums = np.stack([metric.sums_of(answers, labels) for answers in (baseline, *edited)])
    sign = 1.0 if metric.higher_is_better else -1.0
    generator = np.random.default_rng(seed)
    n = len(labels)
    found = np.empty((splits, 5))
    for i in range(splits):
        half = np.zeros(n, dtype=bool)
        half[generator.permutation(n)[: n // 2]] = True
        first = metric.value(sums[:, :, half].sum(axis=-1))
        second = metric.value(sums[:, :, ~half].sum(axis=-1))
        here, there = first[1:] - first[0], second[1:] - second[0]
        best, worst = int(np.argmax(sign * here)), int(np.argmin(sign * here))
        a, b = ranks(here), ranks(there)
        a, b = a - a.mean(), b - b.mean()
        size = float(np.sqrt((a @ a) * (b @ b)))
        agreement = float(a @ b) / size if size > 0 else 0.0
        found[i] = here[best], there[best], here[worst], there[worst], agreement
    return SplitHalf(*(float(value) for value in found.mean(axis=0)), splits=splits)
