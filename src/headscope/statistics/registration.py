"""Registers this package's statistics as measures."""

from __future__ import annotations

from headscope.measures import register as register_measures
from headscope.statistics.discovery import own_statistics, register_statistics
from headscope.statistics.of_media import known


def register() -> None:
    register_statistics(*own_statistics())
    register_measures(*(measure for measure, _ in known().values()))
