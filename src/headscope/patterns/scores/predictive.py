"""Attention to other words that are predictive of this one, by the model's own predictions.

π_ij = log p(x_i | i masked) − log p(x_i | i and j masked): how much word j helps to guess word i.
The score is the rank correlation of attention with π over the other words that are not copies.
It takes of the order of n² readings of a text of n tokens, so it is measured on a sample
(`patterns.predictive`); `sibling_pieces` is the quick stand-in.
"""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.rank_correlation import RankPattern
from headscope.patterns.token_pairs import TokenPairs


def pool(pairs: TokenPairs) -> Tensor:
    return pairs.content & (pairs.offset != 0) & ~pairs.same_token


pattern = RankPattern(
    name="predictive",
    label="predictive words",
    about="ranks the other words by how much they help to guess the word",
    least_score=0.35,
    follows="predictions",
    pool=pool,
)
