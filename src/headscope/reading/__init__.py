"""Readings: tokens and attention with named axes, made by a scope, kept and given back."""

from headscope.reading.part import LayerAttention, Part
from headscope.reading.reading import Reading
from headscope.reading.scope import Scope, load

__all__ = ["LayerAttention", "Part", "Reading", "Scope", "load"]
