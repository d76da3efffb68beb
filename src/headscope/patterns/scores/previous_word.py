"""Attention to the previous token, both tokens in the same sentence and neither special."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pools import content
from headscope.patterns.token_pairs import TokenPairs


def targets(pairs: TokenPairs) -> Tensor:
    return pairs.same_segment & (pairs.offset == -1)


pattern = MassPattern(
    name="previous_word",
    label="previous word",
    about="attends to the previous token of the same sentence",
    least_score=0.4,
    targets=targets,
    pool=content,
)
