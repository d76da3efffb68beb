"""Attention from content tokens to special tokens: any of them, or one alone."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pools import everything
from headscope.patterns.token_pairs import TokenPairs
from headscope.statistics.features.grid import CLS, PUNCTUATION, SEP


def any_special(pairs: TokenPairs) -> Tensor:
    return (pairs.grid.key.classes < PUNCTUATION)[:, None, :]


def opening_token(pairs: TokenPairs) -> Tensor:
    return pairs.special(CLS, 1)


def first_separator(pairs: TokenPairs) -> Tensor:
    return pairs.special(SEP, 1)


def second_separator(pairs: TokenPairs) -> Tensor:
    return pairs.special(SEP, 2)


delimiter = MassPattern(
    name="delimiter",
    label="delimiter",
    about="attends to the special tokens",
    least_score=0.6,
    causal=False,
    rests=True,
    targets=any_special,
    pool=everything,
)
delimiter_cls = replace(
    delimiter,
    name="delimiter_cls",
    label="delimiter CLS",
    about="attends to the opening token",
    least_score=0.4,
    targets=opening_token,
)
delimiter_sep1 = replace(
    delimiter,
    name="delimiter_sep1",
    label="delimiter first SEP",
    about="attends to the first separator",
    least_score=0.4,
    targets=first_separator,
)
delimiter_sep2 = replace(
    delimiter,
    name="delimiter_sep2",
    label="delimiter second SEP",
    about="attends to the second separator",
    least_score=0.4,
    targets=second_separator,
)
