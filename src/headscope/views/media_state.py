"""What the image and the sound view open on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headscope.errors import BadInput
from headscope.reading import Part
from headscope.views.labels import as_labels
from headscope.views.opening import opening_head
from headscope.views.state import check_heads, check_layer, check_token, checked, several
from headscope.views.wire.frame import Sending


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
    check_layer(part, layer)
    heads = several(heads)
    check_heads(part.heads, *(heads or ()))
    if query is not None and key is not None:
        raise BadInput("What is in hand is a query or a key: give query= or key=, not both.")
    if heads is None or layer is None:
        first = opening_head(part, as_labels(sending.labels, part.kind), layer)
        layer = first[0] if layer is None else layer
        heads = [first[1]] if heads is None else heads
    side = "query" if key is None else "key"
    check_token(
        len(part.query if side == "query" else part.key), query if key is None else key, side
    )
    return {
        "kind": part.kind,
        "layer": layer,
        "heads": list(heads),
        "head": heads[0] if heads else 0,
        "query": opening if query is None and key is None else query,
        "key": key,
        "side": side,
        "also": [],
        **checked(options),
    }
