"""Attention that follows meaning: rank correlations, query by query, over words that are not
copies.

`related_word` and `related_other_sentence` rank words by the cosine of static embeddings.
`predictive` ranks them by the model's own predictions:
π_ij = log p(x_i | i masked) − log p(x_i | i and j masked), how much word j helps to guess word i.
That takes of the order of n² readings of a text of n tokens, so it is measured on a sample
(`patterns.predictive`); `sibling_pieces` is the quick stand-in.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from headscope.patterns.rank_correlation import RankPattern
from headscope.patterns.token_pairs import TokenPairs, words_across


def no_copies(pairs: TokenPairs) -> Tensor:
    return pairs.words & ~pairs.same_token


def no_copies_across(pairs: TokenPairs) -> Tensor:
    return words_across(pairs) & ~pairs.same_token


def others(pairs: TokenPairs) -> Tensor:
    return pairs.content & (pairs.offset != 0) & ~pairs.same_token


related_word = RankPattern(
    name="related_word",
    label="related words",
    about="ranks the other words by how alike their embeddings are",
    least_score=0.35,
    pool=no_copies,
)
related_other_sentence = replace(
    related_word,
    name="related_other_sentence",
    label="related words, other sentence",
    about="ranks the words of the other sentence by how alike their embeddings are",
    causal=False,
    pool=no_copies_across,
)
predictive = replace(
    related_word,
    name="predictive",
    label="predictive words",
    about="ranks the other words by how much they help to guess the word",
    follows="predictions",
    pool=others,
)
