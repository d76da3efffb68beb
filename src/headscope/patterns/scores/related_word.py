"""Attention that follows likeness of meaning: the rank correlation, query by query, of attention
with the cosine of static embeddings, over the other words that are not copies."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.rank_correlation import RankPattern
from headscope.patterns.token_pairs import TokenPairs


def pool(pairs: TokenPairs) -> Tensor:
    return pairs.words & ~pairs.same_token


pattern = RankPattern(
    name="related_word",
    label="related words",
    about="ranks the other words by how alike their embeddings are",
    least_score=0.35,
    pool=pool,
)
