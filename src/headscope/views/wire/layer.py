"""One layer by itself: what a live surface fetches when the layer is first looked at."""

from __future__ import annotations

import dataclasses

from headscope.capture import Kind
from headscope.reading import Reading
from headscope.views.state import check_heads
from headscope.views.wire.budget import LIVE
from headscope.views.wire.container import Buffers, ViewData, view_data
from headscope.views.wire.layers import pack_heads, plan_of
from headscope.views.wire.part import encode_part


def layer_data(reading: Reading, kind: Kind, layer: int, head: int | None = None) -> ViewData:
    """A container whose single part holds that layer: q and k where they can be read, else maps.

    Of a layer too large to send whole, the head that is looked at.
    """
    part = reading.part(kind)
    one = part.layer(layer)
    alone = dataclasses.replace(part, layers=(one,))
    plan = plan_of(alone, neurons=True)
    pieces = None
    if plan.size > LIVE and head is not None:
        check_heads(one.shape[0], head)
        pieces = {layer: [pack_heads(one, [head], plan)]}
    buffers = Buffers()
    header = {"view": "head", "model": reading.model}
    encoded = encode_part(alone, buffers, neurons=True, pieces=pieces)
    return view_data({**header, "parts": [encoded]}, buffers)
