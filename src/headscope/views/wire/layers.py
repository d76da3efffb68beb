"""One layer, or some of its heads, as buffers: maps, or q and k, whichever is smaller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from headscope.reading import LayerAttention, Part
from headscope.reading.weights.held import Bias, Mask
from headscope.views.wire import encoding
from headscope.views.wire.container import Buffers
from headscope.views.wire.packing import (
    FINE_STEP,
    WEIGHT_STEP,
    Packed,
    pack_bits,
    pack_numbers,
    pack_weights,
)

SentMask = str | dict[str, int | bool] | dict[str, str]


def describe_mask(mask: Mask | None, name: str, buffers: Buffers) -> SentMask:
    """A rule if the mask follows one, else its bits."""
    if mask is None:
        return "none"
    if mask.bits is not None:
        return buffers.add(name, pack_bits(mask.bits.numpy()))
    if mask.window is None:
        return "causal"
    return {"window": mask.window, "causal": mask.causal}


def describe_bias(bias: Bias | None, name: str, buffers: Buffers) -> dict[str, str] | None:
    """The bias; one that depends on distance alone as one number per distance."""
    if bias is None:
        return None
    form = "relative" if bias.relative else "dense"
    return buffers.add(name, pack_numbers(bias.values.numpy())) | {"form": form}


NEURONS_BESIDES_MAPS = 1_400_000  # most bytes of q and k beside maps


@dataclass(frozen=True)
class Plan:
    """What is sent of every layer, and its approximate bytes."""

    maps: bool
    neurons: bool
    size: float
    fine: bool = False  # weights in steps fine enough for sums


@dataclass(frozen=True)
class Piece:
    """A layer as sent; `heads` are the sent ones, None for all."""

    maps: Packed | None
    q: Packed | None
    k: Packed | None
    v: Packed | None = None
    heads: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        return sum(len(one.data) for one in (self.maps, self.q, self.k, self.v) if one is not None)


def plan_of(part: Part, neurons: bool | None) -> Plan:
    kept = [layer for layer in part.layers if layer.has_weights]
    both = [(layer.held["q"], layer.held["k"]) for layer in part.layers if layer.has_qk]
    items = sum(prod(q.shape) + prod(k.shape) for q, k in both)
    neuron_bytes = items * encoding.NEURON_BITS / 8
    weights = sum(prod(layer.shape) for layer in kept)
    all_kept = len(kept) == len(part.layers)
    if items and (neurons or not all_kept or weights > encoding.MAPS_AT_MOST):
        return Plan(maps=False, neurons=True, size=neuron_bytes)
    fine = part.key.positions is not None
    sampled = kept[:: max(1, len(kept) // 4)]
    bits = np.mean([encoding.bits_per_weight(layer) for layer in sampled])
    maps = float(weights * (max(bits, 12.0) if fine else bits) / 8)
    if items and maps > neuron_bytes:
        return Plan(maps=False, neurons=True, size=neuron_bytes)
    besides = bool(items) and neurons is None and neuron_bytes <= NEURONS_BESIDES_MAPS
    return Plan(True, besides, size=maps + (neuron_bytes if besides else 0), fine=fine)


def pack(layer: LayerAttention, plan: Plan) -> Piece:
    """The whole layer."""
    send_maps, q, k = plan.maps, None, None
    own_q, own_k = (layer.q, layer.k) if plan.neurons else (None, None)
    if own_q is not None and own_k is not None:
        neurons = encoding.send_neurons(layer, own_q, own_k)
        q, k = pack_numbers(neurons.q), pack_numbers(neurons.k)
        send_maps = send_maps or not neurons.exact
    maps = layer.weights if send_maps or q is None else None
    step = FINE_STEP if plan.fine else WEIGHT_STEP
    values = layer.v if plan.neurons else None
    v = None if values is None or q is None else pack_numbers(values)
    return Piece(None if maps is None else pack_weights(maps, step), q, k, v)


def pack_heads(layer: LayerAttention, heads: Sequence[int], plan: Plan) -> Piece:
    """Some heads of one group, with the keys they share."""
    some = layer.of_heads(heads)
    whole = pack(some, plan)
    return replace(whole, heads=tuple(heads))


def describe(
    layer: LayerAttention, sent: Sequence[Piece], name: str, buffers: Buffers
) -> dict[str, Any]:
    """The layer's entry in the header: all of it, or the sent heads."""
    described: dict[str, Any] = {"scaling": 1.0, "mask": "none", "maps": None, "q": None, "k": None}
    number = layer.layer
    if any(one.q is not None for one in sent):
        described |= {
            "scaling": 1.0 if layer.scaling is None else layer.scaling,
            "mask": describe_mask(layer.mask_held, f"{name}m{number}", buffers),
            "bias": describe_bias(layer.bias_held, f"{name}b{number}", buffers),
            "softcap": layer.softcap,
            "sinks": None
            if (sinks := layer.sinks) is None
            else buffers.add(f"{name}s{number}", pack_numbers(sinks)),
        }
    for at, piece in enumerate(sent):
        mark = f"{number}" if piece.heads is None else f"{number}.{at}"
        fields = {
            field: buffers.add(f"{name}{letter}{mark}", data)
            for field, letter, data in zip(
                ("maps", "q", "k", "v"),
                "wqkv",
                (piece.maps, piece.q, piece.k, piece.v),
                strict=True,
            )
            if data is not None
        }
        if piece.heads is None:
            described |= fields
        else:
            described.setdefault("pieces", []).append({"heads": list(piece.heads), **fields})
    return described
