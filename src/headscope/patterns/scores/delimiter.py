"""Attention from content tokens to any special token."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pools import everything
from headscope.patterns.token_pairs import Sheet
from headscope.statistics.features.grid import PUNCTUATION


def targets(sheet: Sheet) -> Tensor:
    return (sheet.grid.key.classes < PUNCTUATION)[:, None, :]


pattern = MassPattern(
    name="delimiter",
    label="delimiter",
    about="attends to the special tokens",
    cut=0.6,
    causal=False,
    targets=targets,
    pool=everything,
)
