"""Measures: the name and meaning of every number per head."""

from headscope.measures.registry import Measure as Measure
from headscope.measures.registry import every as every
from headscope.measures.registry import find as find
from headscope.measures.registry import register as register
