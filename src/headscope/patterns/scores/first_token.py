"""Attention of later tokens to the first token: the sink of causal models."""

from __future__ import annotations

import numpy as np

from headscope.patterns.grid import Grid
from headscope.patterns.pattern import MassPattern, Targets

SKIPPED = 3  # the first queries see so few keys that the first one is no choice


def targets(grid: Grid) -> Targets | None:
    pool = grid.visible & (np.arange(grid.shape[0]) > SKIPPED)[:, None]
    return Targets(pool & (np.arange(grid.shape[1]) == 0)[None, :], pool)


pattern = MassPattern(
    name="first_token",
    label="first-token sink",
    about="leaves its attention on the first token",
    cut=0.5,
    causal=True,
    targets=targets,
)
