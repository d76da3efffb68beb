"""Weights of some queries from q and k, in the order the page computes them.

Used to prove, before q and k are sent instead of maps, that they give back the captured weights,
and to look at long readings that kept no weights without making whole maps.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.reading import LayerAttention

Floats = NDArray[np.float32]


def weights_of_rows(
    layer: LayerAttention,
    q: NDArray[np.floating],  # h t d
    k: NDArray[np.floating],  # g s d
    rows: NDArray[np.intp],  # h r: each head's own queries
) -> Floats:  # h r s
    heads, groups = q.shape[0], k.shape[0]
    each = np.arange(heads)[:, None]
    picked = q[each, rows].reshape(groups, -1, q.shape[-1])  # g (h/g r) d
    scores = np.matmul(picked, k.transpose(0, 2, 1)).reshape(heads, rows.shape[1], -1)
    scores *= np.float32(1.0 if layer.scaling is None else layer.scaling)
    if layer.softcap is not None:
        scores = np.tanh(scores / layer.softcap) * np.float32(layer.softcap)
    chosen = torch.from_numpy(rows)
    if layer.bias_held is not None:
        for head in range(heads):
            scores[head] += layer.bias_held.rows(slice(head, head + 1), chosen[head])[0].numpy()
    if layer.mask_held is not None:
        scores = np.where(layer.mask_held.rows(chosen).numpy(), scores, np.float32(-np.inf))
    return _softmax(scores, layer.sinks)


def _softmax(scores: Floats, sinks: Floats | None) -> Floats:
    peak = scores.max(axis=-1, keepdims=True)
    if sinks is not None:
        peak = np.maximum(peak, sinks[:, None, None])
    peak = np.where(np.isfinite(peak), peak, np.float32(0))  # a query that may look at nothing
    exponentials = np.exp(scores - peak)
    total = exponentials.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks[:, None, None] - peak)
    return np.divide(exponentials, total, out=exponentials, where=total > 0)
