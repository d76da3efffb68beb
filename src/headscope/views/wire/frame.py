"""The header that every view of a reading shares, around its parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headscope.capture import Kind
from headscope.reading import Part, Reading
from headscope.reading.by_span import span_runs
from headscope.reading.part import Weighting
from headscope.views.shared.caption import caption
from headscope.views.shared.labels import Label, Labels, as_labels
from headscope.views.shared.numbers import Table
from headscope.views.shared.opening import opening_head
from headscope.views.shared.state import check_heads
from headscope.views.wire import budget
from headscope.views.wire.budget import LIVE
from headscope.views.wire.container import Buffers, ViewData, view_data
from headscope.views.wire.layers import pack_heads, plan_of
from headscope.views.wire.media import media_header
from headscope.views.wire.packing import pack_numbers
from headscope.views.wire.part import check_seen, encode_part, same_tokens


@dataclass(frozen=True)
class Sending:
    """How a view is sent."""

    theme: str = "auto"
    labels: Labels | None = None
    neurons: bool | None = None  # q and k: always, never, or if they are small
    only: Collection[int] | None = None  # layers sent now; None: all within the budget
    budget: int | None = None  # bytes of a page, or of a fetched layer; None: the default
    first: Sequence[tuple[int, int]] = ()  # layer and head: in full before labelled heads


def frame(
    view: str,
    reading: Reading,
    state: Mapping[str, Any],
    sending: Sending,
    other: Reading | None = None,
    table: Table | None = None,
) -> ViewData:
    buffers = Buffers()
    labels = as_labels(sending.labels, reading.part().kind)
    shown = [reading] if other is None else [reading, other]
    most = sending.budget or budget.BUDGET
    packed = [_within(one, state, labels, sending, most / len(shown)) for one in shown]

    def encoded(of: Reading, prefix: str) -> list[dict[str, Any]]:
        own = labels if of is reading else ()
        pieces = packed[0 if of is reading else 1]
        return [
            encode_part(
                part,
                buffers,
                neurons=sending.neurons,
                only=sending.only,
                pieces=None if pieces is None else pieces[part.kind],
                labels=own,
                prefix=prefix,
            )
            | {"opening": list(opening_head(part, own))}
            | _spans_header(part, of)
            for part in of.parts.values()
        ]

    header: dict[str, Any] = {
        "view": view,
        "model": reading.model,
        "caption": caption(reading),
        "warnings": list(reading.warnings),
        "theme": sending.theme,
        "state": {"view": view, **state},
        "parts": encoded(reading, ""),
    }
    if packed[0] is not None and sending.only is None:
        told = budget.left_out(reading, packed[0], most)
        header |= {"left_out": told} if told else {}
    header |= media_header(reading, buffers)
    header["weightings"] = weightings_header(reading, buffers)
    if "prompt_tokens" in reading.metadata:
        header["prompt_tokens"] = reading.metadata["prompt_tokens"]
    if table is not None:
        header["table"] = table.header(buffers)
    if other is not None:
        header["other"] = {
            "model": other.model,
            "caption": caption(other),
            "parts": encoded(other, "o"),
        }
    return view_data(header, buffers)


def _spans_header(part: Part, reading: Reading) -> dict[str, Any]:
    if not reading.spans or not same_tokens(part):
        return {}
    runs = span_runs(part.key, reading.spans)
    return {
        "spans": [{"name": name, "start": start, "end": end} for name, start, end in runs],
        "answer": next((one.name for one in reading.spans if one.of == "answer"), None),
    }


def _within(
    reading: Reading,
    state: Mapping[str, Any],
    labels: Sequence[Label],
    sending: Sending,
    most: float,
) -> budget.Packed | None:
    """The heads that fit into a page of that size; None if all do, or if layers are fetched."""
    for part in reading.parts.values():
        check_seen(part)
    parts = reading.parts.values()
    if sending.only is not None:
        return _fetched_by_head(reading, state, sending)
    tokens = sum(len(part.query) + len(part.key) for part in parts)
    room = budget.room(int(most), tokens, sum(len(part.layers) for part in parts))
    if budget.expected(reading, sending.neurons) * 1.15 <= room:
        return None
    thumbnails = sum(400 * part.heads * len(part.layers) for part in parts)
    units = budget.in_order(reading, state, labels, sending.first)
    return budget.fill(reading, units, sending.neurons, room - thumbnails)


def _fetched_by_head(
    reading: Reading, state: Mapping[str, Any], sending: Sending
) -> budget.Packed | None:
    """The selected heads, if a layer is too large to send whole."""
    largest = max(
        plan_of(replace(part, layers=part.layers[:1]), sending.neurons).size
        for part in reading.parts.values()
    )
    if largest <= (sending.budget or LIVE) or not sending.only:
        return None
    units = budget.asked_for(reading, state)
    return budget.fill(reading, units, sending.neurons, float("inf"))


def weightings_header(reading: Reading, buffers: Buffers) -> dict[str, Any]:
    """By name: the title, and per kind the factors (layers, heads, keys)."""
    found: dict[str, Any] = {}
    for kind, part in reading.parts.items():
        for name, one in part.weightings.items():
            entry = found.setdefault(name, {"title": one.label, "parts": {}})
            entry["parts"][kind] = buffers.add(f"{kind[0]}w{name}", pack_numbers(_all(part, one)))
    return found


def weightings_data(reading: Reading) -> ViewData:
    """Only the weightings, for a page that has the reading."""
    buffers = Buffers()
    return view_data({"parts": [], "weightings": weightings_header(reading, buffers)}, buffers)


def _all(part: Part, one: Weighting) -> np.ndarray:
    made = np.zeros((len(part.numbers), part.heads, len(part.key)), np.float32)
    for at, number in enumerate(part.numbers):
        factor = one.shares(number)[:, 0]
        made[at, : len(factor)] = factor
    return made


def layer_data(
    reading: Reading, kind: Kind, layer: int, head: int | None = None, most: int = LIVE
) -> ViewData:
    """A container with that layer in a single part: q and k if they can be read, else maps.

    Of a layer larger than `most` bytes, only the selected head.
    """
    part = reading.part(kind)
    one = part.layer(layer)
    alone = dataclasses.replace(part, layers=(one,))
    plan = plan_of(alone, neurons=True)
    pieces = None
    if plan.size > most and head is not None:
        check_heads(one.shape[0], head)
        pieces = {layer: [pack_heads(one, [head], plan)]}
    buffers = Buffers()
    header = {"view": "head", "model": reading.model}
    encoded = encode_part(alone, buffers, neurons=True, pieces=pieces)
    return view_data({**header, "parts": [encoded]}, buffers)
