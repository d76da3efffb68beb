"""Attention to the previous token, both tokens in the same sentence and neither special."""

from __future__ import annotations

from headscope.patterns.grid import Grid
from headscope.patterns.pattern import MassPattern, Targets


def targets(grid: Grid) -> Targets | None:
    if not grid.square:
        return None
    return Targets(grid.content & grid.same_segment & (grid.offset == -1), grid.content)


pattern = MassPattern(
    name="previous_word",
    label="previous word",
    about="attends to the previous token of the same sentence",
    cut=0.4,
    targets=targets,
)
