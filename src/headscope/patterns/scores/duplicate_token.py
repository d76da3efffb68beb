"""Attention to an earlier copy of the same token, read on repeated random tokens."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pools import earlier
from headscope.patterns.token_pairs import TokenPairs


def targets(pairs: TokenPairs) -> Tensor:
    return pairs.same_token


pattern = MassPattern(
    name="duplicate_token",
    label="duplicate token",
    about="attends to an earlier copy of the token",
    least_score=0.3,
    least_lift=4.0,
    source="repeats",
    causal=True,
    paper="Wang et al. 2022",
    targets=targets,
    pool=earlier,
)
