"""Weightings on their way to the page: one factor per layer, head and key."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.reading import Part, Reading
from headscope.reading.part import Weighting
from headscope.views.wire.container import Buffers, ViewData, view_data
from headscope.views.wire.packing import pack_numbers


def weightings_header(reading: Reading, buffers: Buffers) -> dict[str, Any]:
    """By name: what it is called, and per kind the factors (layers, heads, keys)."""
    found: dict[str, Any] = {}
    for kind, part in reading.parts.items():
        for name, one in part.weightings.items():
            entry = found.setdefault(name, {"title": one.label, "parts": {}})
            entry["parts"][kind] = buffers.add(f"{kind[0]}w{name}", pack_numbers(_all(part, one)))
    return found


def weightings_data(reading: Reading) -> ViewData:
    """Weightings alone, for a page that has the reading."""
    buffers = Buffers()
    return view_data({"parts": [], "weightings": weightings_header(reading, buffers)}, buffers)


def _all(part: Part, one: Weighting) -> np.ndarray:
    made = np.zeros((len(part.numbers), part.heads, len(part.key)), np.float32)
    for at, number in enumerate(part.numbers):
        factor = one.shares(number)[:, 0]
        made[at, : len(factor)] = factor
    return made
