"""What the image and the sound view draw on paper: each head's numbers on its positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.media import Positions
from headscope.reading import Reading
from headscope.text.tokens import Tokens
from headscope.views.caption import heading
from headscope.views.labels import Label
from headscope.views.shading import by_head

# patches and moments are single tokens, all of them shown
PLAIN = {
    "unit": "tokens",
    "specials": "shown",
    "first": "shown",
    "filter": "all",
    "combine": "mean",
    "weighting": "weight",
}


class Drawing(NamedTuple):
    """Numbers of the heads that are on, where they lie, and what is in hand."""

    positions: Positions
    heads: list[tuple[str, NDArray[np.float64]]]  # a name, and a number for each place
    own: Tokens  # the side of what is in hand
    in_hand: list[int]
    title: str
    shown: dict[str, Any]  # what the figure says of itself


def drawing(
    reading: Reading, state: Mapping[str, Any], labels: Sequence[Label], medium: str
) -> Drawing:
    """The state's heads on the positions of a picture or a sound."""
    part = reading.part(state["kind"])
    found = by_head(part, {**state, **PLAIN})
    far, own = (part.key, part.query) if found.side == "query" else (part.query, part.key)
    if far.positions is None:
        raise BadInput(f"What is looked at here lies in no {medium}; turn the direction round.")
    numbers = [
        (f"head {state['layer']}-{head}", values)
        for head, values in zip(found.heads, found.each, strict=True)
    ]
    title = heading(part.kind, state["layer"], found.heads, part.heads, labels)
    shown = {
        "kind": part.kind,
        "layer": state["layer"],
        "heads": found.heads,
        "side": found.side,
        "hand": found.hand,
        "values": [[float(value) for value in each] for each in found.each],
    }
    told = f"{title}\n{sentence(own, found.hand, found.side)}"
    return Drawing(far.positions, numbers, own, found.hand, told, shown)


def sentence(tokens: Tokens, hand: Sequence[int], side: str) -> str:
    if not hand:
        return "Shaded: what all positions look at, on average"
    names = [f"“{tokens.labels[place]}”" for place in hand]
    who = f"{len(names)} positions" if len(names) > 3 else " and ".join(names)
    several = len(names) > 1
    if side == "query":
        return f"Shaded: what {who} {'look' if several else 'looks'} at"
    return f"Shaded: what looks at {who}"
