"""Views: one file each, a pure function from a reading to what any surface needs to show it.

A view is a module of this package with a `NAME` (the page's name for it too) and a `build`
function; `discover` finds them, so that a new view is one new file here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import lru_cache

from headscope.views.container import ViewData
from headscope.views.frame import Sending
from headscope.views.labels import Label

__all__ = ["Label", "Sending", "ViewData", "discover"]


@lru_cache
def discover() -> Mapping[str, Callable[..., ViewData]]:
    """Every view by its name."""
    found: dict[str, Callable[..., ViewData]] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        name = getattr(module, "NAME", None)
        if name is None:
            continue
        if name in found:
            raise ValueError(f"two views are called {name!r}")
        found[name] = module.build
    return found
