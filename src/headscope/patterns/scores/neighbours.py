"""Attention to the next token, the previous one and the token itself: content tokens alone, and
both tokens in the same sentence."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern, counts_at_offset
from headscope.patterns.token_pairs import TokenPairs, content


def one_ahead(pairs: TokenPairs) -> Tensor:
    return pairs.same_segment & (pairs.offset == 1)


def one_back(pairs: TokenPairs) -> Tensor:
    return pairs.same_segment & (pairs.offset == -1)


def itself(pairs: TokenPairs) -> Tensor:
    return pairs.offset == 0


next_word = MassPattern(
    name="next_word",
    label="next word",
    about="attends to the next token of the same sentence",
    least_score=0.4,
    causal=False,
    targets=one_ahead,
    pool=content,
    feature="next",
    counts=partial(counts_at_offset, offset=1),
    standard=True,
)
previous_word = replace(
    next_word,
    name="previous_word",
    label="previous word",
    about="attends to the previous token of the same sentence",
    causal=None,
    targets=one_back,
    feature="previous",
    counts=partial(counts_at_offset, offset=-1),
)
self_word = replace(
    next_word,
    name="self_word",
    label="itself",
    about="attends to the token itself",
    causal=None,
    targets=itself,
    feature="self",
    counts=partial(counts_at_offset, offset=0),
)
