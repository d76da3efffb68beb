"""Masks and positional biases in their shortest exact form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.views.wire.container import Buffers
from headscope.views.wire.packing import pack_bits, pack_numbers

Mask = str | dict[str, int | bool] | dict[str, str]


def distance_back(queries: int, keys: int) -> NDArray[np.int_]:
    """From query i back to key j; the last query stands at the last key."""
    return np.arange(queries)[:, None] + (keys - queries) - np.arange(keys)[None, :]


def describe_mask(mask: NDArray[np.bool_] | None, name: str, buffers: Buffers) -> Mask:
    """A rule when the mask follows one, else its bits. mask: t s, True = may look."""
    if mask is None or mask.all():
        return "none"
    if mask.any():
        back = distance_back(*mask.shape)
        if np.array_equal(mask, back >= 0):
            return "causal"
        window = int(np.abs(back[mask]).max()) + 1
        if np.array_equal(mask, (back >= 0) & (back < window)):
            return {"window": window, "causal": True}
        if np.array_equal(mask, np.abs(back) < window):
            return {"window": window, "causal": False}
    return buffers.add(name, pack_bits(mask))


def describe_bias(
    bias: NDArray[np.floating] | None, name: str, buffers: Buffers
) -> dict[str, str] | None:
    """bias: h t s. One that depends on the distance alone is sent as one number a distance."""
    if bias is None:
        return None
    relative = _relative(bias)
    if relative is not None:
        return buffers.add(name, pack_numbers(relative)) | {"form": "relative"}
    return buffers.add(name, pack_numbers(bias)) | {"form": "dense"}


def _relative(bias: NDArray[np.floating]) -> NDArray[np.floating] | None:
    """(h, t + s - 1): the bias of query i and key j stands at j - i + t - 1."""
    heads, queries, keys = bias.shape
    relative = np.empty((heads, queries + keys - 1), dtype=np.float32)
    relative[:, queries - 1 :] = bias[:, 0]
    relative[:, : queries - 1] = bias[:, :0:-1, 0]
    index = np.arange(keys)[None, :] - np.arange(queries)[:, None] + queries - 1
    return relative if np.allclose(relative[:, index], bias, rtol=0, atol=1e-5) else None
