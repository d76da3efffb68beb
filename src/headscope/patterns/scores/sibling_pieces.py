"""Attention to the other pieces of the same word: the quick stand-in for "words predictive of
this word", since a piece of a word predicts its siblings better than anything else does.

Adjacent siblings cannot be told from the next or previous token by position, so the pool is the
neighbourhood a positional head would choose from: what counts is preferring a sibling to the
neighbour across the word's border.
"""

from __future__ import annotations

from headscope.patterns.grid import Grid
from headscope.patterns.pattern import MassPattern, Targets


def targets(grid: Grid) -> Targets | None:
    if not grid.square:
        return None
    siblings = (
        grid.word_pairs
        & (grid.query.words[:, None] == grid.key.words[None, :])
        & (grid.query.words >= 0)[:, None]
        & (grid.offset != 0)
    )
    reach = siblings.sum(1, keepdims=True).clip(2)
    near = grid.content & (abs(grid.offset) <= reach) & (grid.offset != 0)
    return Targets(siblings, near | siblings)


pattern = MassPattern(
    name="sibling_pieces",
    label="rest of the word",
    about="attends to the other pieces of the same word",
    cut=0.4,
    targets=targets,
)
