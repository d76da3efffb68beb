"""The patterns of this package, made known to the registry of measures."""

from __future__ import annotations

from headscope.measures import add_old_names
from headscope.measures import register as register_measures
from headscope.patterns.as_statistics import of_pattern
from headscope.patterns.pattern import Pattern
from headscope.patterns.scores import own_patterns

OLD_NAMES = {"identical_word": "same_word", "other_sentence": "same_word_other"}


def register() -> None:
    register_patterns(*own_patterns())
    add_old_names(OLD_NAMES)


def register_patterns(*patterns: Pattern) -> None:
    """Make patterns known by name, to surveys, labels, head maps, lists and the documentation."""
    for pattern in patterns:
        register_measures(*(measure().described() for measure in of_pattern(pattern)))
