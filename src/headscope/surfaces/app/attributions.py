"""What made the prediction of a text that is on screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headscope.errors import BadInput, HeadscopeError
from headscope.surfaces.app.readings import KeptReading
from headscope.views import ViewData
from headscope.views.prediction import build

if TYPE_CHECKING:
    from headscope.circuits import Attribution

LONGEST = 40  # characters of a target


def attribution(kept: KeptReading, target: str | None) -> Attribution:
    """The likeliest answer taken apart, or the target's, under the heads that are switched off."""
    from headscope.circuits.logits.attribute import attribute

    return attribute(kept.scope, kept.text, kept.text_pair, target=target, lens=False)


def attributed(kept: KeptReading, target: str | None) -> ViewData:
    """The prediction view's own data."""
    try:
        return build(attribution(kept, target))
    except HeadscopeError as error:
        raise BadInput(str(error)) from error


def weighed(kept: KeptReading, by: str, target: str | None) -> KeptReading:
    """What is kept, with a weighting of its attention more."""
    from headscope.circuits.weightings import weigh

    try:
        reading = weigh(kept.scope, kept.reading, kept.text, kept.text_pair, by=by, target=target)  # pyright: ignore[reportArgumentType]
    except HeadscopeError as error:
        raise BadInput(str(error)) from error
    return replace(kept, reading=reading)


def weighting_of(found: Mapping[str, Any]) -> str:
    by = found.get("by")
    if by not in ("norm", "logit"):
        raise BadInput("Attention is weighted by norm or by logit.")
    return str(by)


def target_of(found: Mapping[str, Any]) -> str | None:
    """A token, or None for the likeliest."""
    target = found.get("target")
    if target is None:
        return None
    if not isinstance(target, str) or not target or len(target) > LONGEST:
        raise BadInput(f"A target is one token of at most {LONGEST} characters.")
    return target
