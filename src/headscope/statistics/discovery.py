"""Finds every statistic by looking into the folders where they live."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterable, Sequence

from headscope.errors import BadInput
from headscope.statistics.statistic import Statistic

# by name, because patterns rest on statistics and may not be imported from here
HOMES = ("headscope.statistics", "headscope.patterns")

Wanted = str | type[Statistic] | Statistic


@functools.cache
def discover() -> dict[str, Statistic]:
    """Every statistic by name."""
    found: dict[str, Statistic] = {}
    for home in HOMES:
        spec = importlib.util.find_spec(home)
        if spec is None or spec.submodule_search_locations is None:
            continue
        for entry in pkgutil.walk_packages(spec.submodule_search_locations, f"{home}."):
            if ".kernels" not in entry.name:
                gather(found, vars(importlib.import_module(entry.name)).values(), entry.name)
    return dict(sorted(found.items()))


def gather(found: dict[str, Statistic], things: Iterable[object], home: str) -> None:
    """Add the statistics defined in one module; two of one name are a mistake to be told."""
    for thing in list(things):
        if not (inspect.isclass(thing) and issubclass(thing, Statistic)):
            continue
        if thing.__module__ != home or "name" not in vars(thing):
            continue
        if thing.name in found:
            other = type(found[thing.name])
            raise ValueError(
                f"Two statistics are called {thing.name!r}: {other.__module__}.{other.__name__} "
                f"and {home}.{thing.__name__}; rename one."
            )
        found[thing.name] = thing()


def choose(wanted: str | Sequence[Wanted] | None) -> list[Statistic]:
    """The statistics a user asked for: the standard ones, all, or those named or given."""
    if wanted is None:
        return [statistic for statistic in discover().values() if statistic.standard]
    if wanted == "all":
        return list(discover().values())
    chosen: dict[str, Statistic] = {}
    for one in [wanted] if isinstance(wanted, str) else wanted:
        statistic = _resolve(one)
        known = chosen.setdefault(statistic.name, statistic)
        if type(known) is not type(statistic):
            raise BadInput(f"Two different statistics are called {statistic.name!r}; rename one.")
    if not chosen:
        raise BadInput("Name at least one statistic, or leave them out for the standard ones.")
    return list(chosen.values())


def _resolve(one: Wanted) -> Statistic:
    if isinstance(one, Statistic):
        return one
    if not isinstance(one, str):
        return one()
    if one not in discover():
        import difflib

        near = difflib.get_close_matches(one, discover(), 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(discover())}."
        raise BadInput(f"No statistic is called {one!r}; {hint}")
    return discover()[one]
