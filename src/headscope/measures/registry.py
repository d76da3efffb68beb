"""The registry: every measure by its one name.

A package that computes measures has a module called `registration` with a function `register`;
headscope's own packages are searched, others use the entry point group `headscope.measures`. So
this module does not depend on them.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from headscope.discovery import names, plugins

Origin = Literal["statistic", "pattern", "circuit", "picture"]


@dataclass(frozen=True)
class Measure:
    """The description of a number per head."""

    name: str  # in tables and commands
    title: str  # for display
    sentence: str
    unit: str  # "share", "nats", "tokens", "rank correlation", …
    low: float  # limits of all values
    high: float
    formula: str
    paper: str  # its source
    origin: Origin  # which part of headscope computes it
    needs: str = ""  # requirements on a model or text; empty: only attention
    of_one_text: bool = False  # whether a single reading has it too
    standard: bool = False  # whether a survey measures it by default
    yardstick_of: str | None = None  # the measure whose baseline this is
    computed_by: Any = field(default=None, compare=False, repr=False)

    @property
    def is_share(self) -> bool:
        """Whether the whole range of 0 to 1 is the natural scale."""
        return (self.low, self.high) == (0.0, 1.0)


GROUP = "headscope.measures"
_measures: dict[str, Measure] = {}
_state = {"loading": False, "loaded": False}
_lock = threading.RLock()  # another thread waits until all are there; the same one goes on


def register(*measures: Measure) -> None:
    """Add measures; two with the same name raise an error."""
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
    """The measure of that name; None if it is not registered."""
    _load()
    return _measures.get(name)


def _load() -> None:
    if _state["loaded"]:
        return
    with _lock:
        if _state["loaded"] or _state["loading"]:  # a register function may look up measures itself
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
