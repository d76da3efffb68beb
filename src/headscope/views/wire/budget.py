"""Pages with a budget: which heads are sent in full if not all fit.

Every head is sent as a thumbnail. Sent in full are the opening heads, then those that the view
lists, then labelled ones, best first, then the rest of the selected layer, then the other layers,
until the budget is used up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from headscope.reading import LayerAttention, Part, Reading
from headscope.reading.memory import spelled
from headscope.views.shared.labels import Label
from headscope.views.wire.layers import Piece, Plan, pack_heads, plan_of

BUDGET = 25_000_000  # bytes of a page
SCRIPT = 600_000  # of them for the script and other fixed parts
BASE64 = 4 / 3  # bytes of text per byte
LIVE = 8_000_000  # a live surface fetches larger layers head by head


Packed = dict[str, dict[int, list[Piece]]]


@dataclass(frozen=True)
class Unit:
    """Heads of one layer that share their keys, and so are sent together."""

    part: Part
    layer: LayerAttention
    heads: tuple[int, ...]


def room(budget: int, tokens: int, layers: int) -> float:
    """Bytes for buffers in a page of that size, beside its tokens."""
    return max(0.0, budget - SCRIPT - 120 * tokens - 400 * layers) / BASE64


def expected(reading: Reading, neurons: bool | None) -> float:
    """Bytes of buffers for a whole reading."""
    return sum(plan_of(part, neurons).size for part in reading.parts.values())


def fill(reading: Reading, units: Iterator[Unit], neurons: bool | None, left: float) -> Packed:
    """The heads that fit, packed: by kind and layer."""
    plans = {kind: plan_of(part, neurons) for kind, part in reading.parts.items()}
    packed: Packed = {kind: {} for kind in reading.parts}
    at_once = min(4, os.cpu_count() or 1)
    with ThreadPoolExecutor(at_once) as pool:
        while some := list(islice(units, at_once)):
            pieces = pool.map(partial(_packed, plans=plans), some)
            for unit, piece in zip(some, pieces, strict=True):
                left -= piece.size
                if left < 0:
                    return packed
                packed[unit.part.kind].setdefault(unit.layer.layer, []).append(piece)
    return packed


def left_out(reading: Reading, packed: Packed, budget: int) -> str:
    """The sentence about what a page lacks; empty if it is complete."""
    every = sum(one.shape[0] for part in reading.parts.values() for one in part.layers)
    here = sum(
        len(piece.heads or ())
        for layers in packed.values()
        for pieces in layers.values()
        for piece in pieces
    )
    if here == every:
        return ""
    return (
        f"{here:,} of {every:,} heads are here in full and the others as thumbnails, to keep this "
        f"page under {spelled(budget)}."
    )


def _packed(unit: Unit, plans: Mapping[str, Plan]) -> Piece:
    return pack_heads(unit.layer, unit.heads, plans[unit.part.kind])


def asked_for(reading: Reading, state: Mapping[str, Any]) -> Iterator[Unit]:
    """The opening heads of a view."""
    part = reading.part(state.get("kind"))
    heads = [*(state.get("heads") or ()), *([state["head"]] if "head" in state else [])]
    if state.get("layer") in part.numbers:
        yield from _units(part, state["layer"], heads, set())


def in_order(
    reading: Reading,
    state: Mapping[str, Any],
    labels: Sequence[Label],
    first: Sequence[tuple[int, int]] = (),
) -> Iterator[Unit]:
    """All heads, the most relevant first; `first` are asked for by layer and head."""
    done: set[tuple[str, int, int]] = set()
    for unit in asked_for(reading, state):
        done.update((unit.part.kind, unit.layer.layer, head) for head in unit.heads)
        yield unit
    opening = reading.part(state.get("kind"))
    for layer, head in first:
        if layer in opening.numbers:
            yield from _units(opening, layer, [head], done)
    for label in sorted(labels, key=lambda one: -one.score):
        part = reading.parts.get(label.kind)  # pyright: ignore[reportArgumentType]
        if part is not None and label.layer in part.numbers:
            yield from _units(part, label.layer, [label.head], done)
    own = [one for one in opening.numbers if one == state.get("layer")]
    for part in (opening, *reading.parts.values()):
        for number in (*own, *part.numbers) if part is opening else part.numbers:
            yield from _units(part, number, range(part.layer(number).shape[0]), done)


def _units(
    part: Part, layer: int, heads: Sequence[int], done: set[tuple[str, int, int]]
) -> Iterator[Unit]:
    """The remaining heads, group by group."""
    one = part.layer(layer)
    per_group = max(1, one.shape[0] // max(1, one.groups))
    left = [h for h in heads if 0 <= h < one.shape[0] and (part.kind, layer, h) not in done]
    for group in dict.fromkeys(head // per_group for head in left):
        its = tuple(dict.fromkeys(head for head in left if head // per_group == group))
        done.update((part.kind, layer, head) for head in its)
        yield Unit(part, one, its)
