"""What made the prediction of a text that is on screen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from headscope.errors import BadInput, HeadscopeError
from headscope.surfaces.app.kept import KeptReading
from headscope.views import ViewData
from headscope.views.prediction import build
from headscope.views.wire.container import Buffers, view_data

if TYPE_CHECKING:
    from headscope.circuits import Attribution


def attribution(kept: KeptReading, target: str | None) -> Attribution:
    """The likeliest answer, or the target's, attributed to the heads that are switched on."""
    from headscope.circuits.logits.attribute import attribute

    return attribute(kept.scope, kept.text, kept.text_pair, target=target, lens=False)


def attributed(kept: KeptReading, target: str | None) -> ViewData:
    """The prediction view's own data; a text without a prediction is answered with the reason."""
    try:
        return build(attribution(kept, target))
    except HeadscopeError as error:
        if target is not None:
            raise BadInput(str(error)) from error
        header = {"view": "prediction", "model": kept.reading.model, "parts": []}
        return view_data({**header, "why_no_prediction": str(error)}, Buffers())


def weighed(kept: KeptReading, by: Literal["norm", "logit"], target: str | None) -> KeptReading:
    """What is kept, with a weighting of its attention more."""
    from headscope.circuits.weightings import weigh

    try:
        reading = weigh(kept.scope, kept.reading, kept.text, kept.text_pair, by=by, target=target)
    except HeadscopeError as error:
        raise BadInput(str(error)) from error
    return replace(kept, reading=reading)
