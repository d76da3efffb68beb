"""Attention to other occurrences of the same word, over the tokens that have one."""

from __future__ import annotations

from headscope.patterns.grid import Grid
from headscope.patterns.pattern import MassPattern, Targets


def targets(grid: Grid) -> Targets | None:
    if not grid.square:
        return None
    pool = grid.word_pairs & (grid.offset != 0)
    return Targets(pool & grid.same_token, pool)


pattern = MassPattern(
    name="identical_word",
    label="identical word",
    about="attends to other occurrences of the same word",
    cut=0.2,
    lift=4.0,
    targets=targets,
)
