"""The statistics of this package, made known to the registry of measures."""

from __future__ import annotations

from headscope.measures import add_old_names
from headscope.statistics.discovery import own_statistics, register_statistics

OLD_NAMES = {"itself": "self", "specials": "special_tokens"}  # of a reading's numbers


def register() -> None:
    register_statistics(*own_statistics())
    add_old_names(OLD_NAMES)
