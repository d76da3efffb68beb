"""The image view: the picture, shaded by what the patch or word in hand looks at, or is seen by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.media import PlaceKind, Places
from headscope.reading import Part, Reading
from headscope.text.tokens import Tokens
from headscope.views.caption import caption, heading
from headscope.views.labels import Label
from headscope.views.media_state import media_state
from headscope.views.shading import Units, shade
from headscope.views.wire.container import ViewData
from headscope.views.wire.frame import Sending, frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "image"
NEEDS = "picture"
SHOWS = "the picture, shaded by what the patch or word in hand looks at, or who looks there"
OPTIONS = {
    "side": ("query", "key"),
    "also": list,
    "combine": ("mean", "sum"),
    "smoothing": ("nearest", "smooth"),  # between the middles of patches, for the eye alone
    "opacity": ("0.8", "0.5", "1"),  # of the strongest patch
}


def build(
    reading: Reading,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    *,
    kind: Kind | None = None,
    query: int | None = None,
    key: int | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """`query` or `key`: the position in hand; by default the class token, or the last word."""
    sending = sending or Sending()
    part = reading.part(kind or kind_with_pictures(reading))
    placed(part)
    state = media_state(
        part, layer, heads, query, key, sending, options, opening=opening_query(part)
    )
    return frame(NAME, reading, state, sending)


def kind_with_pictures(reading: Reading) -> Kind:
    """A text about a picture first: it has both words and patches."""
    order: tuple[Kind, ...] = ("decoder", "cross", "encoder")
    for kind in order:
        if kind in reading.parts and _has_patches(reading.parts[kind]):
            return kind
    return reading.kinds[0]


def _has_patches(part: Part) -> bool:
    places = part.key.places
    return places is not None and bool((places.kinds == PlaceKind.PATCH).any())


def placed(part: Part) -> Places:
    """The places of what is looked at, or a sentence about readings that have none."""
    places = part.key.places
    if places is None or not _has_patches(part):
        raise BadInput(
            "This reading has no picture; make one with scope.read(image=…) to see it shaded."
        )
    return places


def opening_query(part: Part) -> int:
    """The class token of a tower; the last word of a text; else the first position."""
    places = part.query.places
    if places is None:
        return 0
    words = np.flatnonzero(places.kinds == PlaceKind.WORD)
    if words.size:
        return int(words[-1])
    classes = np.flatnonzero(places.kinds == PlaceKind.CLASS)
    return int(classes[0]) if classes.size else int(places.kinds.size // 2)


def draw(reading: Reading, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same picture on paper: a panel for each head that is on."""
    from headscope.figures.media.shaded_picture import Panel, shaded_pictures

    part = reading.part(state["kind"])
    heads = list(range(part.heads)) if state.get("heads") is None else list(state["heads"])
    plain = {**state, "unit": "tokens", "specials": "shown", "filter": "all"}
    side = state.get("side", "query")
    far, own = (part.key, part.query) if side == "query" else (part.query, part.key)
    panels = [
        Panel(f"head {state['layer']}-{head}", on_places(part, {**plain, "heads": [head]}))
        for head in heads
    ]
    if far.places is None:
        raise BadInput("What is looked at here lies in no picture; turn the direction round.")
    hand = [place for place in (state.get(side), *state.get("also", ())) if place is not None]
    title = heading(part.kind, state["layer"], heads, part.heads, labels)
    return shaded_pictures(
        [picture.pixels for picture in reading.pictures],
        far.places,
        panels,
        in_hand=outlines(own, hand),
        title=f"{title}\n{sentence(own, hand, side)}",
        caption=caption(reading),
        opacity=float(state.get("opacity", 0.8)),
        smooth=state.get("smoothing") == "smooth",
    )


def on_places(part: Part, state: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What is in hand gives every position of the other side, one number each."""
    shading = shade(part, state)
    far: Units = shading.key if shading.side == "query" else shading.query
    count = len(part.key if shading.side == "query" else part.query)
    values = np.zeros(count)
    values[far.start] = shading.weights
    return values


def outlines(tokens: Tokens, hand: Sequence[int]) -> list[tuple[int, list[float]]]:
    """Picture and rectangle of each patch in hand."""
    places = tokens.places
    if places is None:
        return []
    return [
        (int(places.pictures[place]), places.rectangles[place].tolist())
        for place in hand
        if places.kinds[place] == PlaceKind.PATCH
    ]


def sentence(tokens: Tokens, hand: Sequence[int], side: str) -> str:
    if not hand:
        return "Shaded: what all positions look at, on average"
    names = [f"“{tokens.labels[place]}”" for place in hand]
    who = f"{len(names)} positions" if len(names) > 3 else " and ".join(names)
    several = len(names) > 1
    if side == "query":
        return f"Shaded: what {who} {'look' if several else 'looks'} at"
    return f"Shaded: what looks at {who}"
