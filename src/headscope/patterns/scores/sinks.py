"""Attention on sinks: special tokens, any or one kind, and in causal models the first token."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from headscope.patterns.attention_mass import Counts, MassPattern
from headscope.patterns.token_pairs import TokenPairs, everything, visible_keys
from headscope.statistics.features.grid import CLS, PUNCTUATION, SEP, Grid


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


SKIPPED = 4  # the first queries see too few keys


def first_token(pairs: TokenPairs) -> Tensor:
    return pairs.key_position == 0


def after_the_start(pairs: TokenPairs) -> Tensor:
    return pairs.visible & (pairs.key_position - pairs.offset >= SKIPPED)


def counts(grid: Grid) -> Counts:
    position = torch.arange(grid.query.ids.shape[1], device=grid.key.ids.device) + grid.offset
    asking = grid.query.valid & (position >= grid.key.start[:, None] + SKIPPED)
    return asking.double(), (visible_keys(grid) * asking).double()


sink = MassPattern(
    name="sink",
    label="first-token sink",
    about="leaves its attention on the first token",
    least_score=0.5,
    causal=True,
    rests=True,
    paper="Xiao et al. 2023",
    targets=first_token,
    pool=after_the_start,
    feature="first",
    counts=counts,
    standard=True,
)
