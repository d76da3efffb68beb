"""The model view: every head of every layer as a thumbnail, each a click from its head view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.capture import Kind
from headscope.reading import Reading
from headscope.views.caption import caption
from headscope.views.labels import Label, as_labels
from headscope.views.opening import opening_head
from headscope.views.state import check_heads, checked, several
from headscope.views.wire.container import ViewData
from headscope.views.wire.frame import Sending, frame
from headscope.views.wire.part import part_thumbnail

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "model"
SHOWS = "every head of every layer as a thumbnail; a click opens one"


def build(
    reading: Reading,
    heads: Sequence[int] | None = None,
    *,
    kind: Kind | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """All heads, or the columns named; the clearest head is the one in hand."""
    sending = sending or Sending()
    part = reading.part(kind)
    heads = several(heads)
    check_heads(part.heads, *(heads or ()))
    layer, head = opening_head(part, as_labels(sending.labels, part.kind))
    state = {
        "kind": part.kind,
        "layer": layer,
        "head": head,
        "heads": [head],
        "columns": None if heads is None else list(heads),
        **checked(options),
    }
    return frame(NAME, reading, state, sending)


def rows(parts: Sequence[Mapping[str, Any]]) -> int:
    """Lines of text that the picture is as tall as."""
    return 3 * max(len(part["layers"]) for part in parts)


def draw(reading: Reading, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same picture on paper."""
    from headscope.figures.model_grid import model_grid

    part = reading.part(state["kind"])
    heads = list(state.get("columns") or range(part.heads))
    maps = np.stack([part_thumbnail(layer, part.heads) for layer in part.layers])[:, heads]
    return model_grid(
        maps / 255,
        layers=part.numbers,
        heads=heads,
        title=f"{part.kind.capitalize()} attention, {len(part.layers)} layers × {len(heads)} heads",
        caption=caption(reading),
    )
