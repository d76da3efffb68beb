"""Attention from content tokens to the first separator."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pools import everything
from headscope.patterns.token_pairs import Sheet
from headscope.statistics.features.grid import SEP


def targets(sheet: Sheet) -> Tensor:
    return sheet.special(SEP, 1)


pattern = MassPattern(
    name="delimiter_sep1",
    label="delimiter first SEP",
    about="attends to the first separator",
    cut=0.4,
    causal=False,
    targets=targets,
    pool=everything,
)
