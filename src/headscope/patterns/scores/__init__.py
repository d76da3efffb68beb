"""The patterns: whatever patterns a module here defines, are patterns of headscope."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from headscope.patterns.pattern import Pattern


def own_patterns() -> Iterator[Pattern]:
    """The patterns of this folder."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        found = vars(importlib.import_module(module.name)).values()
        yield from (thing for thing in found if isinstance(thing, Pattern))
