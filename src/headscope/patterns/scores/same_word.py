"""Attention to other occurrences of the same word, over the tokens that have one.

In the other sentence the pool is that sentence alone, so a head earns nothing by merely looking
across: its null is (mass on the words there) × (copies there) / (words there).
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.token_pairs import TokenPairs, other_words, words_across


def copies(pairs: TokenPairs) -> Tensor:
    return pairs.same_token


same_word = MassPattern(
    name="same_word",
    label="same word",
    about="attends to other occurrences of the same word",
    least_score=0.2,
    least_lift=4.0,
    targets=copies,
    pool=other_words,
)
same_word_other = replace(
    same_word,
    name="same_word_other",
    label="same word, other sentence",
    about="attends to the same word in the other sentence",
    causal=False,
    pool=words_across,
)
