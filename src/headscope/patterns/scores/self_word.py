"""Attention of a token to itself: the part of "identical words" that is kept apart."""

from __future__ import annotations

from headscope.patterns.grid import Grid
from headscope.patterns.pattern import MassPattern, Targets


def targets(grid: Grid) -> Targets | None:
    if not grid.square:
        return None
    return Targets(grid.content & (grid.offset == 0), grid.content)


pattern = MassPattern(
    name="self_word",
    label="itself",
    about="attends to the token itself",
    cut=0.4,
    targets=targets,
)
