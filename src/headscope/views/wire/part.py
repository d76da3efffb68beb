"""One kind's attention of a reading as the header's part and its buffers."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.reading import LayerAttention, Part
from headscope.text.tokens import Tokens
from headscope.text.written import written
from headscope.views.labels import Label
from headscope.views.wire import encoding
from headscope.views.wire.container import Buffers
from headscope.views.wire.masks import describe_bias, describe_mask
from headscope.views.wire.packing import (
    Packed,
    pack_bytes,
    pack_neurons,
    pack_numbers,
    pack_weights,
)
from headscope.views.wire.thumbnails import sampled_rows, thumbnail, thumbnail_of_rows

NEURONS_BESIDES_MAPS = 1_000_000  # bytes of q and k that a page of maps may carry along
LEFT_OUT = (
    "This page carries the attention maps alone, to stay small; "
    "neuron_view(reading) makes one with q and k."
)


@dataclass(frozen=True)
class _Plan:
    """What is sent of every layer."""

    maps: bool
    neurons: bool


@dataclass(frozen=True)
class _Sent:
    maps: Packed | None
    q: Packed | None
    k: Packed | None


def encode_part(
    part: Part,
    buffers: Buffers,
    *,
    neurons: bool | None = None,
    only: Collection[int] | None = None,
    labels: Sequence[Label] = (),
    prefix: str = "",
) -> dict[str, Any]:
    """The header's part.

    neurons: True sends q and k of every layer, None sends them where they are cheap or smaller
    than maps. only: the layer numbers whose numbers travel now, the others being fetched later.
    """
    check_seen(part)
    plan = _plan(part, neurons)
    name = f"{prefix}{part.kind[0]}"
    wanted = [layer for layer in part.layers if only is None or layer.layer in only]
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:  # zlib and numpy free the lock
        packed = list(pool.map(lambda layer: _pack(layer, plan), wanted))
        pooled = list(pool.map(lambda layer: part_thumbnail(layer, part.heads), part.layers))
    sent = {layer.layer: one for layer, one in zip(wanted, packed, strict=True)}
    thumbnails = np.stack(pooled)  # l h r c
    readable = [layer for layer in part.layers if layer.has_qk]
    groups, dim = _shape_of_neurons(readable)
    why = part.why_no_qk or "The reading kept no q and k; read the text again with them."
    return {
        "kind": part.kind,
        "layers": list(part.numbers),
        "heads": part.heads,
        "groups": groups or part.heads,
        "dim": dim,
        "query": tokens_header(part.query),
        "key": None if same_tokens(part) else tokens_header(part.key),
        "encoding": "maps" if plan.maps else "qk",
        "per_layer": [
            _describe(layer, sent.get(layer.layer), name, buffers) for layer in part.layers
        ],
        "thumbnails": buffers.add(f"{name}t", pack_bytes(thumbnails))
        | {"size": list(thumbnails.shape[2:])},
        "labels": [label.header() for label in labels if label.kind == part.kind],
        "why_no_qk": why if not readable else None if plan.neurons else LEFT_OUT,
        "rotary": part.rotary,
    }


def check_seen(part: Part) -> None:
    for layer in part.layers:
        if not layer.has_weights and not layer.has_qk:
            raise BadInput(
                f"This reading kept neither weights nor q and k of its {part.kind} attention; "
                'read the text again with keep=("weights", "q", "k").'
            )


def same_tokens(part: Part) -> bool:
    return part.kind != "cross" and part.query.text == part.key.text


def tokens_header(tokens: Tokens) -> dict[str, Any]:
    return {
        "text": list(tokens.labels),
        "class": tokens.classes.tolist(),
        "segment": tokens.segments.tolist(),
        "word": tokens.words.tolist(),
        "continues": tokens.continues.astype(int).tolist(),
        "written": list(written(tokens)),
    }


def _shape_of_neurons(readable: Sequence[LayerAttention]) -> tuple[int, int]:
    """Key/value heads and neurons per head."""
    return readable[0].held["k"].shape[::2] if readable else (0, 0)  # pyright: ignore


def _plan(part: Part, neurons: bool | None) -> _Plan:
    kept = [layer for layer in part.layers if layer.has_weights]
    both = [(layer.held["q"], layer.held["k"]) for layer in part.layers if layer.has_qk]
    items = sum(prod(q.shape) + prod(k.shape) for q, k in both)
    if not items:
        return _Plan(maps=True, neurons=False)
    if neurons or len(kept) < len(part.layers):
        return _Plan(maps=False, neurons=True)
    neuron_bytes = items * encoding.NEURON_BITS / 8
    weights = sum(prod(layer.shape) for layer in kept)
    bits = np.mean([encoding.bits_per_weight(layer) for layer in kept[:: max(1, len(kept) // 4)]])
    if weights > encoding.MAPS_AT_MOST or weights * bits / 8 > neuron_bytes:
        return _Plan(maps=False, neurons=True)
    return _Plan(maps=True, neurons=neurons is None and neuron_bytes <= NEURONS_BESIDES_MAPS)


def _pack(layer: LayerAttention, plan: _Plan) -> _Sent:
    send_maps, q, k = plan.maps, None, None
    own_q, own_k = (layer.q, layer.k) if plan.neurons else (None, None)
    if own_q is not None and own_k is not None:
        neurons = encoding.send_neurons(layer, own_q, own_k)
        q, k = pack_neurons(neurons.q, neurons.bits), pack_neurons(neurons.k, neurons.bits)
        send_maps = send_maps or not neurons.exact
    maps = layer.weights if send_maps or q is None else None
    return _Sent(None if maps is None else pack_weights(maps), q, k)


def part_thumbnail(layer: LayerAttention, heads: int) -> NDArray[np.uint8]:
    if layer.has_weights:
        small = thumbnail(layer.head_weights(slice(None)))
    else:
        rows = sampled_rows(layer.shape[1])
        small = thumbnail_of_rows(layer.head_weights(slice(None), rows), rows, layer.shape[1])
    missing = heads - small.shape[0]  # layers with fewer heads than others are filled up blank
    return np.pad(small, ((0, missing), (0, 0), (0, 0))) if missing else small


def _describe(
    layer: LayerAttention, sent: _Sent | None, name: str, buffers: Buffers
) -> dict[str, Any]:
    described: dict[str, Any] = {"scaling": 1.0, "mask": "none", "maps": None, "q": None, "k": None}
    if sent is None:
        return described
    number = layer.layer
    if sent.q is not None:
        described |= {
            "scaling": 1.0 if layer.scaling is None else layer.scaling,
            "mask": describe_mask(layer.mask_held, f"{name}m{number}", buffers),
            "bias": describe_bias(layer.bias_held, f"{name}b{number}", buffers),
            "softcap": layer.softcap,
            "sinks": None
            if layer.sinks is None
            else buffers.add(f"{name}s{number}", pack_numbers(layer.sinks)),
        }
    for field, letter, data in (("maps", "w", sent.maps), ("q", "q", sent.q), ("k", "k", sent.k)):
        if data is not None:
            described[field] = buffers.add(f"{name}{letter}{number}", data)
    return described
