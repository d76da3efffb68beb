"""Shared by the image and the sound view: their state and their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.figures.tokens import crop
from headscope.media.positions import PositionKind, Positions
from headscope.reading import Part, Reading
from headscope.text.tokens import Tokens
from headscope.views.shared.caption import heading
from headscope.views.shared.labels import Label, as_labels
from headscope.views.shared.opening import chosen_heads
from headscope.views.shared.shading import by_head
from headscope.views.shared.state import check_token, checked, open_heads
from headscope.views.wire.frame import Sending

if TYPE_CHECKING:
    from headscope.figures.tokens import TokenLine
    from headscope.views.shared.selection import Side


# patches and moments are single tokens, all shown
PLAIN = {
    "unit": "tokens",
    "specials": "shown",
    "first": "shown",
    "filter": "all",
    "combine": "mean",
    "weighting": "weight",
}


class Drawing(NamedTuple):
    """The numbers of the heads that are on, their positions, and the selection."""

    positions: Positions
    heads: list[tuple[str, NDArray[np.float64]]]  # a name, and a number for each position
    own: Tokens  # the selection's side
    in_hand: list[int]
    title: str
    shown: dict[str, Any]  # the figure's description


def drawing(
    reading: Reading, state: Mapping[str, Any], labels: Sequence[Label], medium: str
) -> Drawing:
    """The state's heads on the positions of a picture or a sound."""
    part = reading.part(state["kind"])
    found = by_head(part, {**state, **PLAIN})
    far, own = (part.key, part.query) if found.side == "query" else (part.query, part.key)
    if far.positions is None:
        raise BadInput(f"What is attended to here is not in the {medium}; reverse the direction.")
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
    names = [f"“{tokens.labels[position]}”" for position in hand]
    who = f"{len(names)} positions" if len(names) > 3 else " and ".join(names)
    several = len(names) > 1
    if side == "query":
        return f"Shaded: what {who} {'look' if several else 'looks'} at"
    return f"Shaded: what looks at {who}"


# The opening state of the image and the sound view.

MEDIA_OPTIONS = {
    "side": ("query", "key"),
    "also": list,
    "smoothing": ("nearest", "smooth"),  # interpolated between patches, for display only
    "opacity": ("0.8", "0.5", "1"),  # of the strongest patch or moment
}
MEDIA_MEANINGS = {
    "smoothing": 'Shading between patches or moments: "nearest" (the default) or "smooth".',
    "opacity": 'Of the strongest patch or moment: "0.8" (the default), "0.5" or "1".',
}


def media_state(
    part: Part,
    layer: int | None,
    heads: Sequence[int] | None,
    query: int | None,
    key: int | None,
    sending: Sending,
    options: Mapping[str, Any],
    opening: int,
) -> dict[str, Any]:
    """The state of a view with one selected position, by default `opening`."""
    if query is not None and key is not None:
        raise BadInput("Select a query or a key: give query= or key=, not both.")
    layer, heads = chosen_heads(part, as_labels(sending.labels, part.kind), layer, heads)
    side = "query" if key is None else "key"
    check_token(
        len(part.query if side == "query" else part.key), query if key is None else key, side
    )
    return {
        **open_heads(part, layer, heads),
        "query": opening if query is None and key is None else query,
        "key": key,
        "side": side,
        "also": [],
        **checked(options),
    }


def opening_query(part: Part) -> int:
    """The class token of a tower; the last word of a text; else the first position."""
    positions = part.query.positions
    if positions is None:
        return 0
    words = np.flatnonzero(positions.kinds == PositionKind.WORD)
    if words.size:
        return int(words[-1])
    classes = np.flatnonzero(positions.kinds == PositionKind.CLASS)
    return int(classes[0]) if classes.size else int(positions.kinds.size // 2)


# A side's tokens on paper; patches with their crop of the picture.


def with_crops(side: Side, tokens: Tokens, reading: Reading) -> TokenLine:
    """The side's line with crops; unchanged without a picture."""
    positions = tokens.positions
    if positions is None or not reading.pictures:
        return side.line
    return replace(
        side.line,
        crops=[
            crop(reading.pictures[which].pixels, positions.rectangles[at]) if which >= 0 else None
            for at, which in zip(side.starts, positions.pictures[side.starts], strict=True)
        ],
    )
