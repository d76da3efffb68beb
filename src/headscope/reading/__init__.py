"""Readings: tokens and attention with named axes, made by a scope, saved and opened."""

from headscope.reading.opening import load
from headscope.reading.part import Part
from headscope.reading.reading import Reading
from headscope.reading.scope import Scope
from headscope.reading.weights.layer import LayerAttention

__all__ = ["LayerAttention", "Part", "Reading", "Scope", "load"]
