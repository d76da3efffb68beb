"""A weighting: what attention carries, as a factor per head and key to draw weights times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Weighting:
    """α_ij f_j / most: at most 1, and 1 for what carries most in the whole reading."""

    title: str  # what is drawn instead of the weight
    most: float
    factors: Mapping[int, NDArray[np.float32]]  # by layer: h s

    def shares(self, layer: int, heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        """h 1 s, to be multiplied with weights."""
        factor = self.factors[layer] / np.float32(self.most)
        return (factor if heads is None else factor[list(heads)])[:, None]

    @property
    def label(self) -> str:
        return f"{self.title} (1 = {self.most:.3g})"
