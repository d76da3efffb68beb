"""One layer by itself: what a live surface fetches when the layer is first looked at."""

from __future__ import annotations

import dataclasses

from headscope.capture import Kind
from headscope.reading import Reading
from headscope.views.wire.container import Buffers, ViewData, view_data
from headscope.views.wire.part import encode_part


def layer_data(reading: Reading, kind: Kind, layer: int) -> ViewData:
    """A container whose single part holds that layer: q and k where they can be read, else maps."""
    part = reading.part(kind)
    alone = dataclasses.replace(part, layers=(part.layer(layer),))
    buffers = Buffers()
    header = {"view": "head", "model": reading.model}
    return view_data({**header, "parts": [encode_part(alone, buffers, neurons=True)]}, buffers)
