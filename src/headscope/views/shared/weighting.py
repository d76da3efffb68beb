"""The weighting drawn instead of the weight: choice, factor and caption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.reading import Part, Reading
from headscope.reading.part import Weighting
from headscope.views.shared.caption import caption
from headscope.views.shared.state import State

OPTION = {"weighting": get_args(get_type_hints(State)["weighting"])}


def weighting_of(part: Part, state: Mapping[str, Any]) -> Weighting | None:
    """None: the weight itself."""
    name = state.get("weighting", "weight")
    if name == "weight":
        return None
    if name not in part.weightings:
        raise BadInput(
            f"This reading has no {name} for its {part.kind} attention; "
            f"hs.circuits.with_weightings(scope, text) makes a reading that has it."
        )
    return part.weightings[name]


def factor(
    part: Part, state: Mapping[str, Any], layer: int, heads: Sequence[int] | None
) -> NDArray[np.float32]:
    """h 1 s, or 1."""
    found = weighting_of(part, state)
    return np.ones((1, 1, 1), np.float32) if found is None else found.shares(layer, heads)


def drawn_caption(reading: Reading, part: Part, state: Mapping[str, Any]) -> str:
    """The line under a figure, which names the weighting, if any."""
    found = weighting_of(part, state)
    return caption(reading) if found is None else f"{caption(reading)}\nDrawn: {found.label}"
