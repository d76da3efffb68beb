"""Attention from content tokens to the second separator, in sentence pairs."""

from __future__ import annotations

from headscope.models.tokens import TokenClass
from headscope.patterns.delimiters import delimiter
from headscope.patterns.pattern import MassPattern

pattern = MassPattern(
    name="delimiter_sep2",
    label="delimiter second SEP",
    about="attends to the second separator",
    cut=0.4,
    causal=False,
    targets=delimiter(TokenClass.SEP, 1),
)
