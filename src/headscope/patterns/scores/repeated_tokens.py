"""Attention to an earlier copy of the token, or to what followed it.

Both are read on repeated random tokens, so that nothing but the repetition can guide the head.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor
from torch.nn.functional import pad

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.token_pairs import TokenPairs, earlier


def copies(pairs: TokenPairs) -> Tensor:
    return pairs.same_token


def after_copies(pairs: TokenPairs) -> Tensor:
    followed = pad((earlier(pairs) & pairs.same_token)[..., :-1], (1, 0))
    # the token itself follows a copy when a word is doubled; that is not looking back
    return followed & (pairs.offset < -1)


induction = MassPattern(
    name="induction",
    label="induction",
    about="attends to what followed an earlier copy of the token",
    least_score=0.3,
    least_lift=4.0,
    source="repeats",
    causal=True,
    paper="Olsson et al. 2022",
    targets=after_copies,
    pool=earlier,
)
duplicate_token = replace(
    induction,
    name="duplicate_token",
    label="duplicate token",
    about="attends to an earlier copy of the token",
    paper="Wang et al. 2022",
    targets=copies,
)
