"""Attention of later tokens to the first token: the sink of causal models."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.patterns.attention_mass import Counts, MassPattern
from headscope.patterns.token_pairs import TokenPairs, visible_keys
from headscope.statistics.features.grid import Grid

SKIPPED = 4  # the first queries see so few keys that the first one is no choice


def targets(pairs: TokenPairs) -> Tensor:
    return pairs.key_position == 0


def after_the_start(pairs: TokenPairs) -> Tensor:
    return pairs.visible & (pairs.key_position - pairs.offset >= SKIPPED)


def counts(grid: Grid) -> Counts:
    position = torch.arange(grid.query.ids.shape[1], device=grid.key.ids.device) + grid.offset
    asking = grid.query.valid & (position >= grid.key.start[:, None] + SKIPPED)
    return asking.double(), (visible_keys(grid) * asking).double()


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
    feature="first",
    counts=counts,
    standard=True,
)
