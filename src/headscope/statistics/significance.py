"""Correction of p-values for having asked many questions at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def holm(p: Array) -> Array:
    """Holm's step-down correction: controls the chance of any false alarm."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1.0, stepped)
    return corrected


def holm_clear(p: Array, rate: float) -> NDArray[np.bool_]:
    """Whose p stays within the rate after Holm's correction; only those that can are put in order:
    of so many candidates each p is multiplied by more than the number of all others."""
    low, before = np.flatnonzero(p <= rate), -1
    while len(low) != before:
        before = len(low)
        low = low[p[low] * (len(p) - before + 1) <= rate * (1 + 1e-9)]
    order = low[np.argsort(p[low])]
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), len(p) - len(order), -1))
    clear = np.zeros(len(p), dtype=bool)
    clear[order] = stepped <= rate
    return clear
