"""Attention to the same word in the other sentence.

The pool is the other sentence alone, so a head earns nothing by merely looking across: its
null is (mass on the other sentence) × (copies there) / (words there).
"""

from __future__ import annotations

from headscope.patterns.grid import Grid
from headscope.patterns.pattern import MassPattern, Targets


def targets(grid: Grid) -> Targets | None:
    if not grid.square or not grid.pair:
        return None
    pool = grid.word_pairs & ~grid.same_segment
    return Targets(pool & grid.same_token, pool)


pattern = MassPattern(
    name="other_sentence",
    label="same word, other sentence",
    about="attends to the same word in the other sentence",
    cut=0.2,
    lift=4.0,
    causal=False,
    targets=targets,
)
