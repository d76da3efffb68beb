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
