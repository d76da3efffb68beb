"""Weights of some queries from q and k, as the page computes them.

Used to prove, before q and k are sent instead of maps, that they give back the captured weights,
and to look at long readings that kept no weights without making whole maps.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.capture.softmax import attention_weights
from headscope.reading import LayerAttention

Floats = NDArray[np.float32]


def scores_of_rows(q: Floats, k: Floats, rows: NDArray[np.intp]) -> Floats:  # h r s
    """q·k of some queries, before scaling, bias and mask."""
    heads, groups = q.shape[0], k.shape[0]
    chosen = np.take_along_axis(q, rows[:, :, None], axis=1)
    return np.stack([chosen[head] @ k[head * groups // heads].T for head in range(heads)])


def weights_of_rows(
    layer: LayerAttention,
    q: NDArray[np.floating],  # h t d
    k: NDArray[np.floating],  # g s d
    rows: NDArray[np.intp],  # h r: each head's own queries
) -> Floats:  # h r s
    every = range(q.shape[0])
    chosen = torch.from_numpy(np.ascontiguousarray(rows))
    mask = None if layer.mask_held is None else layer.mask_held.rows(chosen)
    bias = layer.bias_held
    weights = attention_weights(
        torch.from_numpy(np.stack([q[head, rows[head]] for head in every]))[None].float(),
        torch.from_numpy(np.ascontiguousarray(k))[None].float(),
        1.0 if layer.scaling is None else layer.scaling,
        softcap=layer.softcap,
        bias=None
        if bias is None
        else torch.cat([bias.rows(slice(head, head + 1), chosen[head]) for head in every])[None],
        visible=mask,
        sinks=None if layer.sinks is None else torch.from_numpy(layer.sinks),
    )[0]
    if mask is not None:
        weights *= mask.any(-1, keepdim=True)  # a query that may look at nothing
    return weights.numpy()
