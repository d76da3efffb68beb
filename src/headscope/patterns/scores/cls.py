"""Attention from content tokens to the CLS-role token."""

from __future__ import annotations

from headscope.models.tokens import TokenClass
from headscope.patterns.delimiters import delimiter
from headscope.patterns.pattern import MassPattern

pattern = MassPattern(
    name="delimiter_cls",
    label="delimiter CLS",
    about="attends to the opening token",
    cut=0.4,
    causal=False,
    targets=delimiter(TokenClass.CLS, 0),
)
