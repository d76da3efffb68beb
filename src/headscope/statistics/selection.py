"""Which of the statistics asked for a scope can be measured by."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.errors import BadInput
from headscope.reading import Scope
from headscope.statistics.discovery import Wanted, choose
from headscope.statistics.statistic import Statistic


def measurable(
    scope: Scope, wanted: str | Sequence[Wanted] | None
) -> tuple[list[Statistic], dict[str, str]]:
    """The statistics that apply, and for those that cannot be measured the reason.

    One that the user named and that does not apply is an error; of the standard ones, and of all,
    those that apply are taken.
    """
    named = wanted is not None and wanted != "all"
    taken: list[Statistic] = []
    missing: dict[str, str] = {}
    for statistic in choose(wanted):
        if not any(statistic.applies(kind, kind == "decoder") for kind in scope.kinds):
            if named:
                raise BadInput(
                    f"{statistic.name} is not defined for the {' and '.join(scope.kinds)} "
                    f"attention of {scope.name}; leave it out."
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
    """What this model lacks for the statistic, in a sentence; None if it can be measured."""
    if statistic.source == "repeats" and (scope.encoder_decoder or not scope.causal):
        return f"{scope.name} does not continue text, so it has no {statistic.name}."
    return statistic.unavailable(scope)
