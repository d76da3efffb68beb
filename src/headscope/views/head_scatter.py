"""The scatter of heads: any measure against any other, a point for every head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headscope.reading import Reading
from headscope.views.of_heads.on_paper import draw_plane
from headscope.views.of_heads.plane import (
    PANELS,
    Pairs,
    labels_in,
    numbered,
    plane_state,
    plane_table,
)
from headscope.views.shared.labels import Label
from headscope.views.shared.opening import opening_head
from headscope.views.shared.state import checked
from headscope.views.wire.container import Buffers, ViewData, view_data
from headscope.views.wire.frame import Sending, frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "head_scatter"
BUNDLE = "heads"  # its script is only in pages that show it
HEIGHT = 600  # of a notebook's frame
SHOWS = "every head as a point: any measure on x, y, colour and size; brush to choose heads"
OPTIONS = {"x": str, "y": str, "colour": str, "size": str, "panels": PANELS, "chosen": list}
MEANINGS = {
    "source": "A survey, patterns, an atlas, a reading, or numbers of your own (layers × heads).",
    "heads": "Heads that are marked from the start: (layer, head) pairs; none by default.",
}


def build(
    source: Any,
    x: str | None = None,
    y: str | None = None,
    colour: str | None = None,
    size: str | None = None,
    *,
    kind: str | None = None,
    heads: Pairs = (),
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """source: a survey, patterns, an atlas, a reading, or numbers of your own (layers × heads).

    `heads` are marked from the start: (layer, head) pairs.
    """
    sending = sending or Sending()
    table = plane_table(source, kind)
    state: dict[str, Any] = {
        "kind": table.kind,
        **plane_state(table, x=x, y=y, colour=colour, size=size),
        **checked({"chosen": numbered(heads, table), **options}),
    }
    labels = labels_in(source, sending.labels, table.kind)
    if isinstance(source, Reading):
        layer, head = opening_head(source.part(table.kind), labels)  # pyright: ignore[reportArgumentType]
        state |= {"layer": layer, "head": head, "heads": [head]}
        data = frame(NAME, source, state, sending, table=table)
        return ViewData({**data.header, "labels": _headers(labels)}, data.buffers)
    buffers = Buffers()
    model = str(getattr(source, "model", ""))
    header: dict[str, Any] = {
        "view": NAME,
        "views": [NAME, "head_map"],
        "model": model,
        "caption": str(getattr(source, "title", model)),
        "theme": sending.theme,
        "state": {"view": NAME, "layer": table.layers[0], "head": 0, **state},
        "parts": [],
        "table": table.header(buffers),
        "labels": _headers(labels),
    }
    return view_data(header, buffers)


def _headers(labels: Sequence[Label]) -> list[dict[str, Any]]:
    return [label.header() for label in labels]


def draw(source: Any, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same plane, or one for each layer, on paper."""
    from headscope.figures.style import describe

    title = str(getattr(source, "model", ""))
    figure, shown = draw_plane(source, state, title=title, labels=labels)
    return describe(figure, view=NAME, **shown)
