"""What the image and the sound view open on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headscope.errors import BadInput
from headscope.media import PositionKind
from headscope.reading import Part
from headscope.views.labels import as_labels
from headscope.views.opening import chosen_heads
from headscope.views.state import check_token, checked, open_heads
from headscope.views.wire.frame import Sending

MEDIA_OPTIONS = {
    "side": ("query", "key"),
    "also": list,
    "smoothing": ("nearest", "smooth"),  # between the middles of patches, for the eye alone
    "opacity": ("0.8", "0.5", "1"),  # of the strongest patch or moment
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
    """The state of a view with one position in hand; `opening` is it where none is named."""
    if query is not None and key is not None:
        raise BadInput("What is in hand is a query or a key: give query= or key=, not both.")
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
