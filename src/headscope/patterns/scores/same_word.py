"""Attention to other occurrences of the same word, over the tokens that have one."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pools import other_words
from headscope.patterns.token_pairs import TokenPairs


def targets(pairs: TokenPairs) -> Tensor:
    return pairs.same_token


pattern = MassPattern(
    name="same_word",
    label="same word",
    about="attends to other occurrences of the same word",
    least_score=0.2,
    least_lift=4.0,
    targets=targets,
    pool=other_words,
)
