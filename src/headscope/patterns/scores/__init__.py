"""The patterns: every module here that defines `pattern` adds one."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from headscope.errors import BadInput
from headscope.patterns.pattern import Pattern


@cache
def patterns() -> dict[str, Pattern]:
    """Every pattern by name."""
    found: dict[str, Pattern] = {}
    for module in pkgutil.iter_modules(__path__):
        pattern = getattr(import_module(f"{__name__}.{module.name}"), "pattern", None)
        if not isinstance(pattern, Pattern):
            raise TypeError(f"headscope.patterns.scores.{module.name} defines no `pattern`.")
        if pattern.name in found:
            raise TypeError(f"Two patterns are called {pattern.name!r}.")
        found[pattern.name] = pattern
    return found


def pattern_named(name: str) -> Pattern:
    """The pattern of that name."""
    known = patterns()
    if name not in known:
        raise BadInput(f"There is no pattern {name!r}; the patterns are {', '.join(known)}.")
    return known[name]
