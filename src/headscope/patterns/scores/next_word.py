"""Attention to the next token, both tokens in the same sentence and neither special."""

from __future__ import annotations

from functools import partial

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern, counts_at_offset
from headscope.patterns.pools import content
from headscope.patterns.token_pairs import TokenPairs


def targets(pairs: TokenPairs) -> Tensor:
    return pairs.same_segment & (pairs.offset == 1)


pattern = MassPattern(
    name="next_word",
    label="next word",
    about="attends to the next token of the same sentence",
    least_score=0.4,
    causal=False,
    targets=targets,
    pool=content,
    feature="next",
    counts=partial(counts_at_offset, offset=1),
    standard=True,
)
