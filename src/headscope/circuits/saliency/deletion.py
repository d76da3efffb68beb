"""The deletion test: does taking tokens away in a ranking's order hurt faster than by chance?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.circuits.saliency.methods import Floats

if TYPE_CHECKING:
    from headscope.circuits.saliency.embedded import Embedded


@dataclass(frozen=True)
class Deletion:
    """Mean answer while tokens go, most important first; lower is a better ranking."""

    area: float
    random: float  # the mean over random orders
    p: float  # how often a random order does as well

    @property
    def better(self) -> bool:
        return self.p < 0.05


def deletion_test(given: Embedded, scores: Floats, orders: int = 40, seed: int = 0) -> Deletion:
    """Replace tokens by the average word one after another, and average the answer on the way."""
    free = np.flatnonzero(given.free.numpy())
    ranked = free[np.argsort(-scores[free], kind="stable")]
    chance = np.random.default_rng(seed)
    tried = [ranked, *(chance.permutation(free) for _ in range(orders))]
    areas = np.array([_area(given, order) for order in tried])
    as_good = (areas[1:] <= areas[0]).sum()
    return Deletion(float(areas[0]), float(areas[1:].mean()), float((1 + as_good) / (1 + orders)))


@torch.no_grad()
def _area(given: Embedded, order: NDArray[np.intp]) -> float:
    """The mean answer over every step but the last, where nothing is left."""
    step = max(1, len(order) // 10)
    x, gone = [given.own[0]], given.own[0].clone()
    for start in range(0, len(order), step):
        gone = gone.clone()
        gone[order[start : start + step].tolist()] = given.average
        x.append(gone)
    return float(given.answers(torch.stack(x[:-1])).mean())
