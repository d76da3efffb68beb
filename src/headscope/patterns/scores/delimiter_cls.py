"""Attention from content tokens to the opening token ([CLS], <s>)."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pools import everything
from headscope.patterns.token_pairs import Sheet
from headscope.statistics.features.grid import CLS


def targets(sheet: Sheet) -> Tensor:
    return sheet.special(CLS, 1)


pattern = MassPattern(
    name="delimiter_cls",
    label="delimiter CLS",
    about="attends to the opening token",
    cut=0.4,
    causal=False,
    targets=targets,
    pool=everything,
)
