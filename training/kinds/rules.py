"""The written rules for the five kinds of map: the baseline the network is compared with.

V is the mean mass on special tokens (or, where a text has none, on its first token), D the mean
mass one or two tokens away, B the mass inside the own sentence above what uniform attention
would put there, counted only when it is spread evenly. The first rule that holds decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.text.tokens import Tokens

EVEN = 0.7  # of the largest entropy within a sentence


class Masses(NamedTuple):
    """V, D and B of one map; B is −1 where there are not two sentences evenly attended."""

    vertical: float
    diagonal: float
    block: float


def masses(weights: NDArray[np.floating], tokens: Tokens) -> Masses:
    """V, D and B of one map (n n)."""
    n = len(weights)
    special = ~tokens.content
    if not special.any():
        special = np.arange(n) == 0
    distance = np.abs(np.arange(n)[:, None] - np.arange(n))
    near = (distance >= 1) & (distance <= 2)
    sizes = np.bincount(tokens.segments)
    block = -1.0
    if len(sizes) > 1:
        same = tokens.segments[:, None] == tokens.segments
        inside = np.where(same, weights, 0.0).astype(np.float64)
        mass = inside.sum(1)
        within = inside / np.maximum(mass, 1e-9)[:, None]
        entropy = -(within * np.log(np.maximum(within, 1e-12))).sum(1)
        even = entropy / np.log(np.maximum(sizes[tokens.segments], 2))
        if even.mean() > EVEN:
            block = float(mass.mean() - (sizes**2).sum() / n**2)
    return Masses(
        float(weights[:, special].sum(1).mean()), float((weights * near).sum(1).mean()), block
    )


def rule(found: Masses) -> str:
    """The kind of map the rules give."""
    if found.vertical > 0.6:
        return "vertical"
    if found.diagonal > 0.5:
        return "diagonal"
    if min(found.vertical, found.diagonal) > 0.25:
        return "vertical+diagonal"
    return "block" if found.block > 0.35 else "heterogeneous"
