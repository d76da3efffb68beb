"""Distances between all pairs of heads, summed over the rows of a corpus."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class HeadDistances:
    """Σ over rows of the Jensen–Shannon divergence of two heads' rows, for every pair of heads."""

    def __init__(self, heads: int) -> None:
        self.sums = np.zeros((heads, heads))
        self.rows = 0

    def add(self, sums: NDArray[np.float64], rows: int) -> None:
        self.sums += sums
        self.rows += rows

    def merge(self, other: HeadDistances) -> None:
        self.add(other.sums, other.rows)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {"sums": self.sums, "rows": np.array([self.rows], dtype=np.int64)}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        self.sums = arrays["sums"].astype(np.float64)
        self.rows = int(arrays["rows"].tolist()[0])
