"""Attention to the same word in the other sentence.

The pool is the other sentence alone, so a head earns nothing by merely looking across: its
null is (mass on the words there) × (copies there) / (words there).
"""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pools import words_across
from headscope.patterns.token_pairs import TokenPairs


def targets(pairs: TokenPairs) -> Tensor:
    return pairs.same_token


pattern = MassPattern(
    name="same_word_other",
    label="same word, other sentence",
    about="attends to the same word in the other sentence",
    least_score=0.2,
    least_lift=4.0,
    causal=False,
    targets=targets,
    pool=words_across,
)
