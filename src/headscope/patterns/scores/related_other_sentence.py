"""Attention that follows likeness of meaning into the other sentence: the rank correlation of
attention with the cosine of static embeddings over the words of the other sentence."""

from __future__ import annotations

from headscope.patterns.grid import Bools, Floats, Grid
from headscope.patterns.pattern import RankPattern


def relation(grid: Grid) -> tuple[Floats, Bools] | None:
    if not grid.square or not grid.pair or grid.likeness is None:
        return None
    return grid.likeness, grid.word_pairs & ~grid.same_segment & ~grid.same_token


pattern = RankPattern(
    name="related_other_sentence",
    label="related words, other sentence",
    about="ranks the words of the other sentence by how alike their embeddings are",
    cut=0.35,
    causal=False,
    relation=relation,
)
