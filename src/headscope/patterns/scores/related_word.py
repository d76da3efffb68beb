"""Attention that follows likeness of meaning: the rank correlation, query by query, of attention
with the cosine of static embeddings, over the other words that are not copies."""

from __future__ import annotations

from headscope.patterns.grid import Bools, Floats, Grid
from headscope.patterns.pattern import RankPattern


def relation(grid: Grid) -> tuple[Floats, Bools] | None:
    if not grid.square or grid.likeness is None:
        return None
    return grid.likeness, grid.word_pairs & (grid.offset != 0) & ~grid.same_token


pattern = RankPattern(
    name="related_word",
    label="related words",
    about="ranks the other words by how alike their embeddings are",
    cut=0.35,
    relation=relation,
)
