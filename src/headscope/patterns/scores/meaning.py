"""Attention that follows meaning: to related words, and to those that help to guess the word.

`related_word` and `related_other_sentence` rank the words that are not copies by the cosine of
static embeddings. `predictive` ranks them by the model's own predictions: π_ij = log p(x_i | i
masked) − log p(x_i | i and j masked), how much word j helps to guess word i. That takes about n²
readings of a text of n tokens, so it is measured on a sample (`patterns.predictive`).
`sibling_pieces` is the quick substitute: a word's pieces predict each other best. The next piece is
also the next token, so the pool is the neighbourhood a positional head would choose from: the head
must prefer a sibling to the neighbour across the word's border.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.rank_correlation import RankPattern
from headscope.patterns.token_pairs import TokenPairs, words_across


def no_copies(pairs: TokenPairs) -> Tensor:
    return pairs.words & ~pairs.same_token


def no_copies_across(pairs: TokenPairs) -> Tensor:
    return words_across(pairs) & ~pairs.same_token


def others(pairs: TokenPairs) -> Tensor:
    return pairs.content & (pairs.offset != 0) & ~pairs.same_token


def siblings(pairs: TokenPairs) -> Tensor:
    return pairs.words & pairs.pieces_of_one_word


def neighbourhood(pairs: TokenPairs) -> Tensor:
    same = siblings(pairs)
    reach = same.sum(2, keepdim=True).clamp(min=2)
    near = pairs.content & (pairs.offset.abs() <= reach) & (pairs.offset != 0)
    return near | same


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
sibling_pieces = MassPattern(
    name="sibling_pieces",
    label="rest of the word",
    about="attends to the other pieces of the same word",
    least_score=0.7,  # a pure next-token head reaches about 0.6 on words of two or three pieces
    targets=siblings,
    pool=neighbourhood,
)
