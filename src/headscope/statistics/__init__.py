"""Statistics: numbers per head, computed from the rows of attention maps."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope.statistics.attention_rollout import rollout as rollout
    from headscope.statistics.discovery import discover as discover
    from headscope.statistics.statistic import Statistic as Statistic

_HOMES = {
    "Statistic": "statistic",
    "discover": "discovery",
    "rollout": "attention_rollout",
}

__all__ = ["Statistic", "discover", "rollout"]


def __getattr__(name: str) -> object:
    """Import on first use: the kernels need neither data frames nor a tokenizer."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
