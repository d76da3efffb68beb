"""The registry: every measure by its one name.

A package that computes measures has a module called `registration` with a function `register`;
those of headscope's own packages are found by looking, those of others through the entry point
group `headscope.measures`. So nothing here knows who computes what.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping
from types import MappingProxyType

from headscope.discovery import names, plugins
from headscope.measures.measure import Measure

GROUP = "headscope.measures"
_measures: dict[str, Measure] = {}
_state = {"loading": False, "loaded": False}
_lock = threading.RLock()  # another thread waits until all are there; the same one goes on


def register(*measures: Measure) -> None:
    """Add measures; two that share a name are a mistake to be told."""
    for measure in measures:
        known = _measures.get(measure.name)
        if known is not None and known != measure:
            raise ValueError(
                f"Two measures are called {measure.name!r}: {known.origin} {known.title!r} and "
                f"{measure.origin} {measure.title!r}; rename one."
            )
        _measures[measure.name] = measure


def every() -> Mapping[str, Measure]:
    """Every measure by name, in alphabetical order."""
    _load()
    return MappingProxyType(dict(sorted(_measures.items())))


def find(name: str) -> Measure | None:
    """The measure of that name; None for a number nobody registered."""
    _load()
    return _measures.get(name)


def _load() -> None:
    if _state["loaded"]:
        return
    with _lock:
        if _state["loaded"] or _state["loading"]:  # what registers may ask for measures in turn
            return
        _state["loading"] = True
        try:
            _load_own()
            for register_theirs in plugins(GROUP):
                register_theirs()
            _state["loaded"] = True
        finally:
            _state["loading"] = False


def _load_own() -> None:
    whole = __name__.partition(".")[0]
    for package in names(whole):
        if "registration" in names(f"{whole}.{package}"):
            importlib.import_module(f"{whole}.{package}.registration").register()
