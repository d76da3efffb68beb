"""Finds every statistic: headscope's own, and those that other packages registered."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from headscope.arguments import need_items
from headscope.discovery import modules
from headscope.errors import BadInput
from headscope.measures import every, register
from headscope.reading import Scope
from headscope.statistics.statistic import Statistic

Wanted = str | type[Statistic] | Statistic


def discover() -> dict[str, Statistic]:
    """Every statistic by name, patterns included."""
    return {
        name: measure.computed_by
        for name, measure in every().items()
        if isinstance(measure.computed_by, Statistic)
    }


def register_statistics(*statistics: type[Statistic]) -> None:
    """Register statistics by name, for surveys, head maps, lists and the documentation."""
    register(*(statistic().described() for statistic in statistics))


def own_statistics() -> Iterator[type[Statistic]]:
    """The named statistics in the modules of the folder `definitions`."""
    for module in modules("headscope.statistics.definitions"):
        for thing in vars(module).values():
            if not (inspect.isclass(thing) and issubclass(thing, Statistic)):
                continue
            if thing.__module__ == module.__name__ and "name" in vars(thing):
                yield thing


def choose(wanted: str | Sequence[Wanted] | None) -> list[Statistic]:
    """The requested statistics: the standard ones, all, or those named or passed."""
    if wanted is None:
        return [statistic for statistic in discover().values() if statistic.standard]
    if wanted == "all":
        return list(discover().values())
    chosen: dict[str, Statistic] = {}
    if not isinstance(wanted, str):
        need_items(wanted, "statistics")
    for one in [wanted] if isinstance(wanted, str) else wanted:
        statistic = _resolve(one)
        known = chosen.setdefault(statistic.name, statistic)
        if type(known) is not type(statistic) and known.described() != statistic.described():
            raise BadInput(f"Two different statistics are called {statistic.name!r}; rename one.")
    if not chosen:
        raise BadInput("Name at least one statistic, or leave them out for the standard ones.")
    return list(chosen.values())


def _resolve(one: Wanted) -> Statistic:
    if isinstance(one, Statistic):
        return one
    if not isinstance(one, str):
        given: Any = one
        if not isinstance(given, type) or not issubclass(given, Statistic):
            raise BadInput(f"A statistic is given by name or as a Statistic, not as {one!r}.")
        return one()
    known = discover()
    if one not in known:
        near = difflib.get_close_matches(one, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
        raise BadInput(f"No statistic is called {one!r}; {hint}")
    return known[one]


def measurable(
    scope: Scope, wanted: str | Sequence[Wanted] | None
) -> tuple[list[Statistic], dict[str, str]]:
    """The statistics that apply, and for all others the reason why not.

    A named statistic that does not apply raises an error; of the standard ones, or of all, those
    that apply are used.
    """
    named = wanted is not None and wanted != "all"
    taken: list[Statistic] = []
    missing: dict[str, str] = {}
    for statistic in choose(wanted):
        if not any(statistic.applies(kind, kind == "decoder") for kind in scope.kinds):
            if named:
                raise BadInput(
                    f"{statistic.name} is not defined for the {' and '.join(scope.kinds)} "
                    f"attention of {scope.name}; leave {statistic.name} out of the statistics."
                )
            continue
        reason = why_not(scope, statistic)
        if reason is None:
            taken.append(statistic)
        elif named:
            raise BadInput(reason)
        else:
            missing[statistic.name] = reason
    return taken, missing


def why_not(scope: Scope, statistic: Statistic) -> str | None:
    """Why the statistic cannot be measured on this model, in a sentence; None if it can."""
    if statistic.source == "repeats" and (scope.encoder_decoder or not scope.causal):
        return f"{scope.name} does not continue text, so it has no {statistic.name}."
    return statistic.unavailable(scope)
