"""Attention of a token to itself: the part of "identical words" that is kept apart."""

from __future__ import annotations

from functools import partial

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern, counts_at_offset
from headscope.patterns.pools import content
from headscope.patterns.token_pairs import TokenPairs


def targets(pairs: TokenPairs) -> Tensor:
    return pairs.offset == 0


pattern = MassPattern(
    name="self_word",
    label="itself",
    about="attends to the token itself",
    least_score=0.4,
    targets=targets,
    pool=content,
    feature="self",
    counts=partial(counts_at_offset, offset=0),
    standard=True,
)
