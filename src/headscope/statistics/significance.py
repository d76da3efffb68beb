"""What every p-value and interval must satisfy: enough units, and correction for many questions."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from headscope.errors import FewUnits

Array = NDArray[np.float64]
FEWEST = 6  # units (texts, examples, pairs): 2 · 2⁻⁶ is the first exact p-value below 5 %


def warn_few(count: int, unit: str) -> None:
    """Say why intervals and p-values are NaN."""
    named = unit.removesuffix("s") if count == 1 else unit
    verb = "is" if count == 1 else "are"
    warnings.warn(
        f"{count} {named} {verb} too few for an interval or a p-value (at least {FEWEST} are "
        "needed); both are NaN.",
        FewUnits,
        stacklevel=3,
    )


def holm(p: Array) -> Array:
    """Holm's step-down correction: controls the chance of any false alarm. NaN stays NaN."""
    corrected = np.full(len(p), np.nan)
    asked = np.flatnonzero(~np.isnan(p))
    order = asked[np.argsort(p[asked])]
    stepped = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    corrected[order] = np.minimum(1.0, stepped)
    return corrected
