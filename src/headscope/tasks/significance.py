"""Which differences are more than chance.

With a few hundred examples and 144 heads, noise looks like a discovery. So every difference is
tested against its own null: if the edit has no effect, an example's two answers can be exchanged.
Accuracies use the exact form of that test (McNemar's); other metrics exchange answers at random, or
in every way if examples are few. Intervals are t-intervals with the standard error of a bootstrap
over examples. Fewer than six examples allow neither: no test could reach 5 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from headscope.statistics.significance import (
    CHUNK,
    FEWEST,
    deals,
    holm,
    mean_interval,
    sign_flip,
    warn_few,
)
from headscope.tasks.metrics import Metric, rank_correlation

Array = np.ndarray
LEVEL = 0.95


@dataclass(frozen=True)
class Differences:
    """Score minus baseline of every edit, each with a 95 % interval and p-values.

    Intervals and p-values are NaN with fewer than `FEWEST` examples.
    """

    difference: Array  # e
    low: Array  # e
    high: Array  # e
    p: Array  # e, two-sided
    p_holm: Array  # e, corrected for any false positive
    p_bh: Array  # e, corrected for the share of false positives

    @property
    def error(self) -> Array:
        """The standard error that a normal interval of this width would have."""
        return (self.high - self.low) / (2 * stats.norm.ppf((1 + LEVEL) / 2))


def paired_test(
    metric: Metric,
    baseline: Array,  # n o
    edited: Array,  # e n o
    labels: Array,  # n
    draws: int = 10_000,
    seed: int = 0,
    unit: str = "examples",
) -> Differences:
    """Every edit's difference to the baseline on the same examples, with interval and p-values."""
    n, edits = len(labels), len(edited)
    sums = np.stack([metric.sums_of(answers, labels) for answers in (baseline, *edited)])
    whole = metric.value(sums.sum(axis=-1))
    difference = whole[1:] - whole[0]
    if n < FEWEST:
        warn_few(n, unit)
        none = np.full(edits, np.nan)
        return Differences(difference, none, none, none, none, none)
    low, high = _interval(metric, sums, difference, draws, seed)
    if metric.name == "accuracy":
        p = mcnemar(sums[0, 0], sums[1:, 0])
    else:
        p = _exchanged(metric, sums, difference, draws, seed)
    return Differences(
        difference, low, high, p, holm(p), stats.false_discovery_control(p, method="bh")
    )


def mean_test(values: Array, *, seed: int = 0, unit: str = "examples") -> Differences:
    """The mean of e n values over n units: t-intervals, and p-values by exchanging signs."""
    edits, n = values.shape
    mean = values.mean(1)
    if n < FEWEST:
        warn_few(n, unit)
        none = np.full(edits, np.nan)
        return Differences(mean, none, none, none, none, none)
    low, high = mean_interval(values, LEVEL)
    p = sign_flip(values, enough_draws(edits), seed)
    bh = stats.false_discovery_control(p, method="bh")
    return Differences(mean, low, high, p, holm(p), bh)


def mcnemar(before: Array, after: Array) -> Array:
    """e: exact two-sided p-values of the right answers (n, and e n) that an edit gained or lost."""
    gained = (after > before).sum(-1)
    lost = (after < before).sum(-1)
    tail = stats.binom.cdf(np.minimum(gained, lost), gained + lost, 0.5)
    return np.minimum(1.0, 2 * tail)


def _exchanged(metric: Metric, sums: Array, difference: Array, draws: int, seed: int) -> Array:
    """e: how often exchanging the answers of examples makes as large a difference."""
    edits, parts, n = len(sums) - 1, sums.shape[1], sums.shape[2]
    gain = (sums[1:] - sums[0]).reshape(edits * parts, n)
    before, after = sums[0].sum(-1), sums[1:].sum(-1)
    count, total = np.zeros(edits), 0
    dealt, exact = deals(n, draws, seed)
    least = np.abs(difference) * (1 - 1e-7) - 1e-12
    for some in dealt:
        moved = (some @ gain.T).reshape(len(some), edits, parts)
        found = metric.value(after - moved) - metric.value(before + moved)
        count += (np.abs(found) >= least).sum(0)
        total += len(some)
    return count / total if exact else (1 + count) / (1 + total)


def _interval(
    metric: Metric, sums: Array, difference: Array, draws: int, seed: int
) -> tuple[Array, Array]:
    """e each: a t-interval with the bootstrap's standard error.

    Percentiles of a bootstrap are too narrow for few examples (Hesterberg 2015); t with n − 1
    degrees of freedom, and n − 1 in place of n, are not.
    """
    edits, parts, n = len(sums) - 1, sums.shape[1], sums.shape[2]
    flat = np.ascontiguousarray(sums.reshape((edits + 1) * parts, n), dtype=np.float32)
    total, squares = np.zeros(edits), np.zeros(edits)
    generator = np.random.default_rng(seed)
    for start in range(0, draws, CHUNK):
        count = min(CHUNK, draws - start)
        times = generator.multinomial(n, np.full(n, 1 / n), size=count).astype(np.float32)
        drawn = (times @ flat.T).reshape(count, edits + 1, parts).astype(np.float64)
        values = metric.value(drawn)
        apart = values[:, 1:] - values[:, :1] - difference
        total += apart.sum(0)
        squares += np.square(apart).sum(0)
    spread = np.sqrt(np.maximum(squares / draws - np.square(total / draws), 0) * n / (n - 1))
    reach = stats.t.ppf((1 + LEVEL) / 2, n - 1) * spread
    return difference - reach, difference + reach


def enough_draws(comparisons: int) -> int:
    """Enough draws for the smallest possible p-value to survive correction for all comparisons."""
    return min(max(10_000, 100 * comparisons), 50_000)


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
    """Over many random halvings: the out-of-sample effect of the best and the worst edit."""
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
        agreement = np.nan_to_num(rank_correlation(here, there))
        found[i] = here[best], there[best], here[worst], there[worst], agreement
    return SplitHalf(*(float(value) for value in found.mean(axis=0)), splits=splits)
