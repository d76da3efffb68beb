"""The image view: a picture shaded by attention from or to the selected patch or word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.media.positions import PositionKind, Positions
from headscope.reading import Part, Reading
from headscope.text.tokens import Tokens
from headscope.views.shared.caption import caption
from headscope.views.shared.labels import Label
from headscope.views.shared.on_media import (
    MEDIA_MEANINGS,
    MEDIA_OPTIONS,
    drawing,
    media_state,
    opening_query,
)
from headscope.views.wire.container import ViewData
from headscope.views.wire.frame import Sending, frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "image"
NEEDS = "picture"
SHOWS = "the picture, shaded by what the selected patch or word looks at, or what looks there"
BUNDLE = "media"  # its script is only in pages with pictures or sounds
OPTIONS = MEDIA_OPTIONS
MEANINGS = MEDIA_MEANINGS
EXAMPLE = 'hs.load("digits").read(image=…)'


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
    """`query` or `key`: the selected position; by default the class token, or the last word."""
    sending = sending or Sending()
    part = reading.part(kind or kind_with_pictures(reading))
    positions_seen(part)
    state = media_state(
        part, layer, heads, query, key, sending, options, opening=opening_query(part)
    )
    return frame(NAME, reading, state, sending)


def kind_with_pictures(reading: Reading) -> Kind:
    """The opening kind: a text about a picture first, because it has both words and patches."""
    order: tuple[Kind, ...] = ("decoder", "cross", "encoder")
    for kind in order:
        if kind in reading.parts and _has_patches(reading.parts[kind]):
            return kind
    return reading.kinds[0]


def _has_patches(part: Part) -> bool:
    positions = part.key.positions
    return positions is not None and bool((positions.kinds == PositionKind.PATCH).any())


def positions_seen(part: Part) -> Positions:
    """The keys' positions; readings without any raise an error."""
    positions = part.key.positions
    if positions is None or not _has_patches(part):
        raise BadInput("This reading has no picture; make one with scope.read(image=…).")
    return positions


def draw(reading: Reading, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same picture on paper: a panel for each head that is on."""
    from headscope.figures.shaded_picture import Panel, shaded_pictures
    from headscope.figures.style import describe

    drawn = drawing(reading, state, labels, "picture")
    figure = shaded_pictures(
        [picture.pixels for picture in reading.pictures],
        drawn.positions,
        [Panel(name, values) for name, values in drawn.heads],
        in_hand=outlines(drawn.own, drawn.in_hand),
        title=drawn.title,
        caption=caption(reading),
        opacity=float(state.get("opacity", 0.8)),
        smooth=state.get("smoothing") == "smooth",
    )
    return describe(figure, view=NAME, **drawn.shown)


def outlines(tokens: Tokens, hand: Sequence[int]) -> list[tuple[int, list[float]]]:
    """Picture and rectangle of each selected patch."""
    positions = tokens.positions
    if positions is None:
        return []
    return [
        (int(positions.pictures[position]), positions.rectangles[position].tolist())
        for position in hand
        if positions.kinds[position] == PositionKind.PATCH
    ]
