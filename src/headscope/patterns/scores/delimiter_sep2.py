"""Attention from content tokens to the second separator, in sentence pairs."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pools import everything
from headscope.patterns.token_pairs import Sheet
from headscope.statistics.features.grid import SEP


def targets(sheet: Sheet) -> Tensor:
    return sheet.special(SEP, 2)


pattern = MassPattern(
    name="delimiter_sep2",
    label="delimiter second SEP",
    about="attends to the second separator",
    cut=0.4,
    causal=False,
    targets=targets,
    pool=everything,
)
