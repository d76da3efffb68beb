"""Registers this package's patterns as measures."""

from __future__ import annotations

from headscope.discovery import modules
from headscope.measures import register as register_measures
from headscope.patterns.as_statistics import of_pattern
from headscope.patterns.pattern import Pattern


def register() -> None:
    for module in modules("headscope.patterns.scores"):
        register_patterns(*(thing for thing in vars(module).values() if isinstance(thing, Pattern)))


def register_patterns(*patterns: Pattern) -> None:
    """Make patterns known by name, to surveys, labels, head maps, lists and the documentation."""
    for pattern in patterns:
        register_measures(*(measure().described() for measure in of_pattern(pattern)))
