"""Attention to the token that followed an earlier copy of this one, read on repeated random
tokens so that nothing but the repetition can guide the head."""

from __future__ import annotations

import numpy as np

from headscope.patterns.grid import Grid
from headscope.patterns.pattern import MassPattern, Targets


def targets(grid: Grid) -> Targets | None:
    if not grid.square:
        return None
    after_copy = np.zeros(grid.shape, bool)
    after_copy[:, 1:] = grid.same_token[:, :-1] & grid.content[:, :-1]
    earlier = grid.content & (grid.offset < 0)
    # the neighbour is excluded: a previous-token head is not an induction head
    return Targets(after_copy & earlier & (grid.offset < -1), earlier)


pattern = MassPattern(
    name="induction",
    label="induction",
    about="attends to what followed an earlier copy of the token",
    cut=0.3,
    lift=4.0,
    reads="repeats",
    causal=True,
    targets=targets,
)
