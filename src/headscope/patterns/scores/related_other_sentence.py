"""Attention that follows likeness of meaning into the other sentence: the rank correlation of
attention with the cosine of static embeddings over the words of the other sentence."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.pools import words_across
from headscope.patterns.rank_correlation import RankPattern
from headscope.patterns.token_pairs import TokenPairs


def pool(pairs: TokenPairs) -> Tensor:
    return words_across(pairs) & ~pairs.same_token


pattern = RankPattern(
    name="related_other_sentence",
    label="related words, other sentence",
    about="ranks the words of the other sentence by how alike their embeddings are",
    least_score=0.35,
    causal=False,
    pool=pool,
)
