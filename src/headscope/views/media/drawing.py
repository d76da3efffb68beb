"""What the image and the sound view draw on paper: each head's numbers on its places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.media import Places
from headscope.reading import Part, Reading
from headscope.text.tokens import Tokens
from headscope.views.caption import heading
from headscope.views.labels import Label
from headscope.views.shading import Units, shade


class Drawing(NamedTuple):
    """Numbers of the heads that are on, where they lie, and what is in hand."""

    places: Places
    heads: list[tuple[str, NDArray[np.float64]]]  # a name, and a number for each place
    own: Tokens  # the side of what is in hand
    in_hand: list[int]
    title: str


def drawing(
    reading: Reading, state: Mapping[str, Any], labels: Sequence[Label], medium: str
) -> Drawing:
    """The state's heads on the places of a picture or a sound."""
    part = reading.part(state["kind"])
    side = state.get("side", "query")
    far, own = (part.key, part.query) if side == "query" else (part.query, part.key)
    if far.places is None:
        raise BadInput(f"What is looked at here lies in no {medium}; turn the direction round.")
    heads = list(range(part.heads)) if state.get("heads") is None else list(state["heads"])
    plain = {**state, "unit": "tokens", "specials": "shown", "filter": "all"}
    numbers = [
        (f"head {state['layer']}-{head}", on_places(part, {**plain, "heads": [head]}))
        for head in heads
    ]
    hand = [place for place in (state.get(side), *state.get("also", ())) if place is not None]
    title = heading(part.kind, state["layer"], heads, part.heads, labels)
    return Drawing(far.places, numbers, own, hand, f"{title}\n{sentence(own, hand, side)}")


def on_places(part: Part, state: Mapping[str, Any]) -> NDArray[np.float64]:
    """What is in hand gives every position of the other side, one number each."""
    shading = shade(part, state)
    far: Units = shading.key if shading.side == "query" else shading.query
    count = len(part.key if shading.side == "query" else part.query)
    values = np.zeros(count)
    values[far.start] = shading.weights
    return values


def sentence(tokens: Tokens, hand: Sequence[int], side: str) -> str:
    if not hand:
        return "Shaded: what all positions look at, on average"
    names = [f"“{tokens.labels[place]}”" for place in hand]
    who = f"{len(names)} positions" if len(names) > 3 else " and ".join(names)
    several = len(names) > 1
    if side == "query":
        return f"Shaded: what {who} {'look' if several else 'looks'} at"
    return f"Shaded: what looks at {who}"
