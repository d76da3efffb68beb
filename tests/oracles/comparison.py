"""One comparison with an oracle: how far headscope's numbers are from another's."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Comparison:
    """The largest difference over all numbers of one kind, and how large it may be."""

    model: str
    what: str
    numbers: int
    difference: float
    allowed: float

    @staticmethod
    def of(model: str, what: str, ours: Any, theirs: Any, allowed: float = 1e-5) -> Comparison:
        one, other = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
        assert one.shape == other.shape, f"{what}: {one.shape} against {other.shape}"
        assert np.array_equal(np.isnan(one), np.isnan(other)), f"{what}: undefined elsewhere"
        apart = np.nanmax(np.abs(one - other)) if one.size else 0.0
        return Comparison(model, what, one.size, float(apart), allowed)


def installed(*packages: str) -> bool:
    return all(importlib.util.find_spec(package) is not None for package in packages)
