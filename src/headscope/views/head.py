"""The head view: tokens on two sides, a line for every weight, a colour for every head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headscope.capture import Kind
from headscope.reading import Reading
from headscope.views.shared.caption import heading
from headscope.views.shared.labels import Label, as_labels
from headscope.views.shared.opening import chosen_heads
from headscope.views.shared.selection import is_right_to_left, select
from headscope.views.shared.state import check_token, checked, open_heads
from headscope.views.shared.weighting import OPTION, drawn_caption, weighting_of
from headscope.views.wire.container import ViewData
from headscope.views.wire.frame import Sending, frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DESCRIBED = 8  # lines that a figure's description lists

NAME = "head"
SHOWS = "tokens on two sides, a line for every weight, a colour for every head"
OPTIONS = OPTION


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
    """Opens on the requested heads, else on one clear head."""
    sending = sending or Sending()
    part = reading.part(kind)
    check_token(len(part.query), query, "query")
    check_token(len(part.key), key, "key")
    layer, heads = chosen_heads(part, as_labels(sending.labels, part.kind), layer, heads)
    weighting_of(part, options)
    state = {
        **open_heads(part, layer, heads),
        "query": query,
        "key": key,
        **checked(options),
    }
    return frame(NAME, reading, state, sending)


def draw(reading: Reading, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same picture on paper."""
    from headscope.figures.head_lines import head_lines
    from headscope.figures.lines import choose
    from headscope.figures.style import describe
    from headscope.views.shared.on_media import with_crops

    part = reading.part(state["kind"])
    layer = state["layer"]
    heads = list(range(part.heads)) if state.get("heads") is None else list(state["heads"])
    seen = select(part, layer, state, heads)
    weights = seen.weights
    square_root, pinned = state.get("scale") == "sqrt", (seen.query.pinned, seen.key.pinned)
    lines = choose(
        weights,
        minimum=state.get("minimum", 0.0),
        square_root=square_root,
        query=pinned[0],
        key=pinned[1],
        allowed=seen.allowed,
    )
    direction = state.get("direction", "auto")
    figure = head_lines(
        weights if seen.allowed is None else weights * seen.allowed,
        with_crops(seen.query, part.query, reading),
        with_crops(seen.key, part.key, reading),
        heads=heads,
        of_heads=part.heads,
        title=heading(part.kind, layer, heads, part.heads, labels),
        caption=drawn_caption(reading, part, state),
        lines=lines,
        pinned=pinned,
        square_root=square_root,
        horizontal=state.get("orientation") == "horizontal",
        right_to_left=direction == "rtl" or (direction == "auto" and is_right_to_left(part.query)),
    )
    strongest = [
        [heads[head], int(seen.query.starts[query]), int(seen.key.starts[key]), float(weight)]
        for (head, query, key), weight in zip(lines.positions, lines.weights, strict=True)
    ][: -1 - MOST_DESCRIBED : -1]
    return describe(
        figure,
        view=NAME,
        kind=part.kind,
        layer=layer,
        heads=heads,
        query=None if pinned[0] is None else int(seen.query.starts[pinned[0]]),
        key=None if pinned[1] is None else int(seen.key.starts[pinned[1]]),
        filter=state.get("filter", "all"),
        scale=state.get("scale", "linear"),
        lines=len(lines.weights),
        possible=lines.possible,
        mass=lines.mass,
        strongest=strongest,
    )
