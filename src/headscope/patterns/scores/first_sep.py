"""Attention from content tokens to the first separator."""

from __future__ import annotations

from headscope.models.tokens import TokenClass
from headscope.patterns.delimiters import delimiter
from headscope.patterns.pattern import MassPattern

pattern = MassPattern(
    name="delimiter_sep1",
    label="delimiter first SEP",
    about="attends to the first separator",
    cut=0.4,
    causal=False,
    targets=delimiter(TokenClass.SEP, 0),
)
