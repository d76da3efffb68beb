"""The statistics of this package, made known to the registry of measures."""

from __future__ import annotations

from headscope.measures import add_old_names
from headscope.measures import register as register_measures
from headscope.statistics.discovery import own_statistics, register_statistics
from headscope.statistics.media.definitions import known

OLD_NAMES = {"itself": "self", "specials": "special_tokens"}  # of a reading's numbers


def register() -> None:
    register_statistics(*own_statistics())
    register_measures(*(measure for measure, _ in known().values()))
    add_old_names(OLD_NAMES)
