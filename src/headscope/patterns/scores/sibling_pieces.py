"""Attention to the other pieces of the same word: the quick stand-in for "words predictive of
this word", since a piece of a word predicts its siblings better than anything else does.

The next piece is also the next token, so the pool is the neighbourhood a positional head would
choose from: what counts is preferring a sibling to the neighbour across the word's border.
"""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.token_pairs import TokenPairs


def targets(pairs: TokenPairs) -> Tensor:
    return pairs.words & pairs.pieces_of_one_word


def neighbourhood(pairs: TokenPairs) -> Tensor:
    siblings = targets(pairs)
    reach = siblings.sum(2, keepdim=True).clamp(min=2)
    near = pairs.content & (pairs.offset.abs() <= reach) & (pairs.offset != 0)
    return near | siblings


sibling_pieces = MassPattern(
    name="sibling_pieces",
    label="rest of the word",
    about="attends to the other pieces of the same word",
    least_score=0.7,  # a pure next-token head reaches about 0.6 on words of two or three pieces
    targets=targets,
    pool=neighbourhood,
)
