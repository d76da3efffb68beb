"""Metrics: how good a model's answers are.

Every metric here is a function of sums over examples (how many were right, products of scores
and targets, …). That makes resampling cheap: a bootstrap of thousands of draws for every head of
a model is one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from headscope.errors import BadInput

Array = np.ndarray


@dataclass(frozen=True)
class Metric:
    """`sums_of` gives m numbers per example, `value` makes the metric of their sums."""

    name: str
    higher_is_better: bool
    sums_of: Callable[[Array, Array], Array]  # answers (n o), labels (n) -> m n
    value: Callable[[Array], Array]  # ... m -> ...

    def __call__(self, answers: Array, labels: Array) -> float:
        return float(self.value(self.sums_of(answers, labels).sum(axis=-1)))


def share_of_sums(sums: Array) -> Array:
    return sums[..., 0] / np.maximum(sums[..., 1], 1e-12)


def _right(answers: Array, labels: Array) -> Array:
    right = answers.argmax(axis=1) == labels
    return np.stack([right.astype(float), np.ones(len(labels))])


def _confusion(answers: Array, labels: Array) -> Array:
    if answers.shape[1] != 2:
        raise BadInput(
            f"This metric is for two classes and the answers have {answers.shape[1]}; "
            "choose accuracy."
        )
    said, true = answers.argmax(axis=1) == 1, labels == 1
    return np.stack([said & true, said & ~true, ~said & true, ~said & ~true]).astype(float)


def _f1(sums: Array) -> Array:
    right, false, missed = sums[..., 0], sums[..., 1], sums[..., 2]
    return 2 * right / np.maximum(2 * right + false + missed, 1e-12)


def _matthews(sums: Array) -> Array:
    tp, fp, fn, tn = (sums[..., i] for i in range(4))
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return np.where(below > 0, (tp * tn - fp * fn) / np.sqrt(np.maximum(below, 1e-12)), 0.0)


def _products(answers: Array, labels: Array) -> Array:
    x, y = answers[:, 0].astype(float), labels.astype(float)
    x, y = x - x.mean(), y - y.mean()  # no change for a correlation, less rounding
    return np.stack([np.ones(len(y)), x, y, x * x, y * y, x * y])


def _correlation(sums: Array) -> Array:
    n, x, y, xx, yy, xy = (sums[..., i] for i in range(6))
    n = np.maximum(n, 1e-12)
    spread = np.maximum(xx - x * x / n, 0) * np.maximum(yy - y * y / n, 0)
    # equal answers say nothing about the targets
    return np.where(spread > 1e-18, (xy - x * y / n) / np.sqrt(np.maximum(spread, 1e-18)), 0.0)


def _rank_products(answers: Array, labels: Array) -> Array:
    return _products(stats.rankdata(answers[:, 0])[:, None], stats.rankdata(labels))


def rank_correlation(one: Array, other: Array) -> float:
    """Spearman's ρ; NaN if all values of one side are equal."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    found: Any = stats.spearmanr(one, other)
    return float(found.statistic)


def given_sums(answers: Array, labels: Array) -> Array:
    return answers[:, :2].T.astype(float)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", True, _right, share_of_sums),
        Metric("f1", True, _confusion, _f1),
        Metric("matthews", True, _confusion, _matthews),
        Metric("pearson", True, _products, _correlation),
        # ranks are computed once, over all examples, even if a part is resampled
        Metric("spearman", True, _rank_products, _correlation),
        Metric(
            "loss", False, given_sums, share_of_sums
        ),  # answers: summed loss, how many it sums over
    )
}


def find_metric(name: str) -> Metric:
    if name not in METRICS:
        raise BadInput(f"There is no metric {name!r}; choose one of {', '.join(METRICS)}.")
    return METRICS[name]
