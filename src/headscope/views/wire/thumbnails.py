"""Maps pooled to at most 28 × 28 bytes: a first picture of every head free of arithmetic."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

SIDE = 28
MOST_KEYS = 16_384  # of the queries a bin is pooled from, together


def bins(count: int) -> NDArray[np.intp]:
    """Where each of at most 28 bins starts."""
    side = min(SIDE, count)
    return np.arange(side) * count // side


def thumbnail(weights: NDArray[np.floating]) -> NDArray[np.uint8]:  # h t s -> h r c
    """The largest weight of each bin, 255 = 1."""
    pooled = np.maximum.reduceat(weights, bins(weights.shape[1]), axis=1)
    pooled = np.maximum.reduceat(pooled, bins(weights.shape[2]), axis=2)
    return np.clip(np.rint(pooled * 255), 0, 255).astype(np.uint8)


def sampled_rows(queries: int) -> NDArray[np.intp]:
    """Some queries of every bin, fewer of a long text: enough where no maps were kept."""
    each = max(1, min(4, MOST_KEYS // queries))
    edges = np.append(bins(queries), queries)
    rows = [
        np.unique(np.linspace(low, high - 1, min(each, high - low)).astype(np.intp))
        for low, high in itertools.pairwise(edges)
    ]
    return np.concatenate(rows)


def thumbnail_of_rows(
    weights: NDArray[np.floating], rows: NDArray[np.intp], queries: int
) -> NDArray[np.uint8]:  # h r s -> h 28 c
    starts = np.searchsorted(rows, bins(queries))
    pooled = np.maximum.reduceat(weights, starts, axis=1)
    pooled = np.maximum.reduceat(pooled, bins(weights.shape[2]), axis=2)
    return np.clip(np.rint(pooled * 255), 0, 255).astype(np.uint8)
