"""One kind of attention in a reading, as the header's part with its buffers."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.reading import LayerAttention, Part
from headscope.reading.rotary import stored
from headscope.text.tokens import Tokens
from headscope.text.written import written
from headscope.views.shared.labels import Label
from headscope.views.wire.container import Buffers
from headscope.views.wire.layers import Piece, Plan, describe, pack, plan_of
from headscope.views.wire.media import positions_header
from headscope.views.wire.packing import pack_bytes

LEFT_OUT = (
    "This page carries the attention maps alone, to stay small; "
    "neuron_view(reading) makes one with q and k."
)


def encode_part(
    part: Part,
    buffers: Buffers,
    *,
    neurons: bool | None = None,
    only: Collection[int] | None = None,
    pieces: Mapping[int, Sequence[Piece]] | None = None,
    labels: Sequence[Label] = (),
    prefix: str = "",
) -> dict[str, Any]:
    """The header's part.

    neurons: True sends q and k of every layer, None sends them if they are small or smaller than
    maps. only: the layers sent now; the others are fetched later. pieces: packed heads instead of
    whole layers, by layer number.
    """
    check_seen(part)
    plan = plan_of(part, neurons)
    name = f"{prefix}{part.kind[0]}"
    wanted = [layer for layer in part.layers if only is None or layer.layer in only]
    wanted = wanted if pieces is None else []
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:  # zlib and numpy release the GIL
        packed = list(pool.map(partial(pack, plan=plan), wanted))
        pooled = list(pool.map(partial(part_thumbnail, heads=part.heads), part.layers))
    sent = {layer.layer: [one] for layer, one in zip(wanted, packed, strict=True)}
    sent = sent if pieces is None else pieces
    thumbnails = np.stack(pooled)  # l h r c
    readable = [layer for layer in part.layers if layer.has_qk]
    groups, dim = _shape_of_neurons(readable)
    return {
        "kind": part.kind,
        "layers": list(part.numbers),
        "heads": part.heads,
        "groups": groups or part.heads,
        "dim": dim,
        "query": tokens_header(part.query, f"{name}x", buffers),
        "key": None if same_tokens(part) else tokens_header(part.key, f"{name}y", buffers),
        "encoding": "maps" if plan.maps else "qk",
        "per_layer": [
            describe(layer, sent.get(layer.layer, ()), name, buffers) for layer in part.layers
        ],
        "thumbnails": buffers.add(f"{name}t", pack_bytes(thumbnails))
        | {"size": list(thumbnails.shape[2:])},
        "labels": [label.header() for label in labels if label.kind == part.kind],
        "why_no_qk": _why_no_qk(part, plan),
        "rotary": stored(part.rotary),
    }


def _why_no_qk(part: Part, plan: Plan) -> str | None:
    if any(layer.has_qk for layer in part.layers):
        return None if plan.neurons else LEFT_OUT
    return part.why_no_qk or "The reading kept no q and k; read the text again with them."


def check_seen(part: Part) -> None:
    for layer in part.layers:
        if not layer.has_weights and not layer.has_qk:
            raise BadInput(
                f"This reading kept neither the weights nor both q and k of its {part.kind} "
                'attention; read the text again with keep=("weights",).'
            )


def same_tokens(part: Part) -> bool:
    return part.kind != "cross" and part.query.spellings == part.key.spellings


def tokens_header(tokens: Tokens, name: str, buffers: Buffers) -> dict[str, Any]:
    located = {} if tokens.positions is None else positions_header(tokens.positions, name, buffers)
    return {
        **({"places": located} if located else {}),
        "text": list(tokens.labels),
        "class": tokens.classes.tolist(),
        "segment": tokens.segments.tolist(),
        "word": tokens.word_ids.tolist(),
        "continues": tokens.continues.astype(int).tolist(),
        "written": list(written(tokens)),
    }


def _shape_of_neurons(readable: Sequence[LayerAttention]) -> tuple[int, int]:
    """Key/value heads and neurons per head."""
    if not readable:
        return 0, 0
    groups, _, dim = readable[0].held["k"].shape
    return groups, dim


def part_thumbnail(layer: LayerAttention, heads: int) -> NDArray[np.uint8]:
    if layer.has_weights:
        small = thumbnail(layer.head_weights(slice(None)))
    else:
        rows = sampled_rows(layer.shape[1])
        small = thumbnail_of_rows(layer.head_weights(slice(None), rows), rows, layer.shape[1])
    missing = heads - small.shape[0]  # layers with fewer heads than others are padded
    return np.pad(small, ((0, missing), (0, 0), (0, 0))) if missing else small


SIDE = 28
MOST_KEYS = 16_384  # of the queries pooled in a bin, together


def bins(count: int) -> NDArray[np.intp]:
    """Where each of at most 28 bins starts."""
    side = min(SIDE, count)
    return np.arange(side) * count // side


def thumbnail(weights: NDArray[np.floating]) -> NDArray[np.uint8]:  # h t s -> h r c
    """The largest weight of each bin, 255 = 1."""
    pooled = np.maximum.reduceat(weights, bins(weights.shape[1]), axis=1)
    pooled = np.maximum.reduceat(pooled, bins(weights.shape[2]), axis=2)
    return np.clip(np.rint(pooled * 255), 0, 255).astype(np.uint8)


def sampled_rows(queries: int) -> NDArray[np.intp]:
    """Some queries of every bin, fewer for a long text, if no maps were kept."""
    each = max(1, min(4, MOST_KEYS // queries))
    edges = np.append(bins(queries), queries)
    rows = [
        np.unique(np.linspace(low, high - 1, min(each, high - low)).astype(np.intp))
        for low, high in itertools.pairwise(edges)
    ]
    return np.concatenate(rows)


def thumbnail_of_rows(
    weights: NDArray[np.floating], rows: NDArray[np.intp], queries: int
) -> NDArray[np.uint8]:  # h r s -> h 28 c
    starts = np.searchsorted(rows, bins(queries))
    pooled = np.maximum.reduceat(weights, starts, axis=1)
    pooled = np.maximum.reduceat(pooled, bins(weights.shape[2]), axis=2)
    return np.clip(np.rint(pooled * 255), 0, 255).astype(np.uint8)
