"""Attention to an earlier copy of the same token, read on repeated random tokens."""

from __future__ import annotations

from headscope.patterns.grid import Grid
from headscope.patterns.pattern import MassPattern, Targets


def targets(grid: Grid) -> Targets | None:
    if not grid.square:
        return None
    earlier = grid.content & (grid.offset < 0)
    return Targets(earlier & grid.same_token, earlier)


pattern = MassPattern(
    name="duplicate_token",
    label="duplicate token",
    about="attends to an earlier copy of the token",
    cut=0.3,
    lift=4.0,
    reads="repeats",
    causal=True,
    targets=targets,
)
