"""A part of a reading: some layers, some of its queries."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headscope.arguments import need_list, need_number
from headscope.errors import BadInput
from headscope.reading.part import Part
from headscope.reading.weights.held import Bias, Held, Made, Mask
from headscope.reading.weights.layer import LayerAttention

if TYPE_CHECKING:
    from headscope.reading.reading import Reading


def narrowed(
    reading: Reading,
    layers: Collection[int] | None = None,
    queries: tuple[int, int] | None = None,
) -> Reading:
    """The reading with only those layers, and the queries from the first number up to the second.

    Of an encoder and a decoder, which read different tokens, the queries are the encoder's.
    """
    if layers is not None:
        need_list(layers, "layers", "[0, 3]")
        known = {number for part in reading.parts.values() for number in part.numbers}
        wrong = sorted(set(layers) - known)
        if wrong or not layers:
            there = ", ".join(map(str, sorted(known)))
            raise BadInput(f"layers= names some of the layers {there} of this reading.")
    parts = {
        kind: _part(part, layers, queries if part is reading.part() else None)
        for kind, part in reading.parts.items()
        if layers is None or set(layers) & set(part.numbers)
    }
    return dataclasses.replace(reading, parts=parts)


def _part(part: Part, layers: Collection[int] | None, queries: tuple[int, int] | None) -> Part:
    kept = [one for one in part.layers if layers is None or one.layer in layers]
    if queries is None:
        return dataclasses.replace(part, layers=tuple(kept))
    whole = isinstance(queries, (tuple, list)) and len(queries) == 2  # pyright: ignore[reportUnnecessaryIsInstance]
    start, stop = queries if whole else (-1, -1)
    need_number(start, "The first of queries=")
    need_number(stop, "The last of queries=")
    if not 0 <= start < stop <= len(part.query):
        raise BadInput(f"queries= is a range such as (0, {len(part.query)}), not {queries!r}.")
    # keys after the last query are hidden from all queries, so they are dropped
    keys = stop if part.causal and part.kind != "cross" else len(part.key)
    return dataclasses.replace(
        part,
        query=part.query.crop(stop, start),
        key=part.key.crop(keys),
        layers=tuple(_layer(one, start, stop, keys) for one in kept),
    )


def _layer(one: LayerAttention, start: int, stop: int, keys: int) -> LayerAttention:
    cuts = {"weights": (start, stop, keys), "q": (start, stop, None), "k": (0, keys, None)}
    held = {name: _cut(one.held[name], *cuts[name]) for name in cuts if name in one.held}
    if "v" in one.held:
        held["v"] = _cut(one.held["v"], 0, keys, None)
    return LayerAttention(
        one.layer,
        **held,  # pyright: ignore[reportArgumentType]
        scaling=one.scaling,
        bias=_bias(one.bias_held, start, stop, keys),
        mask=_mask(one.mask_held, start, stop, keys),
        window=one.window,
        softcap=one.softcap,
        sinks=one.held.get("sinks"),
    )


def _cut(held: Held, start: int, stop: int, keys: int | None) -> Made:
    heads, _, last = held.shape

    def make(first: slice) -> Tensor:
        return held.tensor(first)[:, start:stop, :keys]

    return Made((heads, stop - start, last if keys is None else keys), make)


def _mask(mask: Mask | None, start: int, stop: int, keys: int) -> Mask | None:
    if mask is None:
        return None
    if mask.bits is None and keys - (stop - start) == start + mask.shape[1] - mask.shape[0]:
        return Mask((stop - start, keys), mask.window, mask.causal)
    return Mask.of(mask.rows(slice(start, stop))[:, :keys])


def _bias(bias: Bias | None, start: int, stop: int, keys: int) -> Bias | None:
    if bias is None:
        return None
    count = stop - start
    if not bias.relative:
        return Bias(bias.values[:, start:stop, :keys].contiguous(), count)
    first = bias.queries - stop  # query i is now at position start + i, counted from the last
    return Bias(torch.narrow(bias.values, 1, first, count + keys - 1).contiguous(), count)
