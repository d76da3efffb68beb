"""Attention of later tokens to the first token: the sink of causal models."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.token_pairs import TokenPairs

SKIPPED = 4  # the first queries see so few keys that the first one is no choice


def targets(pairs: TokenPairs) -> Tensor:
    return pairs.key_place == 0


def after_the_start(pairs: TokenPairs) -> Tensor:
    return pairs.visible & (pairs.key_place - pairs.offset >= SKIPPED)


pattern = MassPattern(
    name="sink",
    label="first-token sink",
    about="leaves its attention on the first token",
    least_score=0.5,
    causal=True,
    rests=True,
    paper="Xiao et al. 2023",
    targets=targets,
    pool=after_the_start,
)
