"""Maps, or q and k: the smaller of the two that shows every number right to 1e-3.

A map grows with the square of the text, q and k grow with the text. The size of maps is estimated
from the entropy of a few rows. q and k are sent instead only if tested queries reproduce the
captured weights; an edited head's, for example, do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.capture.softmax import attention_weights
from headscope.reading import LayerAttention
from headscope.views.wire.packing import FLOAT_MANTISSA, rounded, weight_codes

TESTED_ERROR = 4e-4  # on tested queries; shown numbers may be off by 1e-3
SPREAD, LARGEST = 20, 8  # tested queries of each head
MANTISSAS = (14, 16, 18, 20, FLOAT_MANTISSA)  # bits tried; 14 hold the four digits shown of q and k
NEURON_BITS = 20.5  # of one neuron after packing, estimated
MAPS_AT_MOST = 48_000_000  # weights; packing more of them takes seconds


@dataclass(frozen=True)
class Neurons:
    """q and k of one layer as sent."""

    q: Floats
    k: Floats
    exact: bool  # whether they reproduce the captured weights


def sample(queries: int, count: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, queries - 1, min(queries, count)).astype(np.intp))


def bits_per_weight(layer: LayerAttention) -> float:
    """Entropy of the codes of sampled rows, close to deflate's result."""
    codes = weight_codes(layer.head_weights(slice(None), sample(layer.shape[1], 16))).ravel()
    counts = np.bincount(codes)
    share = counts[counts > 0] / codes.size
    return float(max(0.05, -(share * np.log2(share)).sum()))


def send_neurons(layer: LayerAttention, q: Floats, k: Floats) -> Neurons:
    """Each head's shortest mantissa with which its tested queries are right, in their weights and
    in the neuron view's printed scores."""
    rows = _tested(q)
    each = np.arange(q.shape[0])[:, None]
    full, scores = weights_of_rows(layer, q, k, rows), scores_of_rows(q, k, rows)
    kept = layer.weights
    truth = full if kept is None else kept[each, rows]
    exact = bool(np.abs(full - truth).max() <= TESTED_ERROR)
    scaling = layer.scaling or 1.0
    allowed = np.minimum(last_digit(scores), last_digit(scores * scaling) / scaling) / 2
    group = np.arange(q.shape[0]) * k.shape[0] // q.shape[0]  # of each head
    q_bits = np.full(q.shape[0], MANTISSAS[-1])
    for step in reversed(range(len(MANTISSAS) - 1)):  # one step down while the test passes
        short_q, short_k = rounded(q, MANTISSAS[step]), rounded(k, MANTISSAS[step])
        wrong = np.abs(scores_of_rows(short_q, short_k, rows) - scores) > allowed
        off = np.abs(weights_of_rows(layer, short_q, short_k, rows) - full) > TESTED_ERROR
        right = ~(wrong | off).any(axis=(1, 2))
        q_bits[right & (q_bits <= MANTISSAS[step + 1])] = MANTISSAS[step]
        if not right.any():
            break
    k_bits = np.array([q_bits[group == one].max() for one in range(k.shape[0])])
    return Neurons(_each_rounded(q, q_bits), _each_rounded(k, k_bits), exact)


def last_digit(values: Floats) -> Floats:
    """The value of the last digit of a signed number on the page."""
    size = np.abs(values)
    return np.where(size >= 100, 0.1, np.where(size >= 10, 0.01, 0.001)).astype(np.float32)


def _tested(q: Floats) -> NDArray[np.intp]:  # h r
    """Queries spread over the text, and those with the largest norm and rounding errors."""
    spread = sample(q.shape[1], SPREAD)
    norms = np.square(q).sum(-1)  # h t
    count = min(LARGEST, q.shape[1])
    largest = np.argpartition(norms, -count, axis=1)[:, -count:]
    return np.concatenate([np.broadcast_to(spread, (q.shape[0], spread.size)), largest], axis=1)


def _each_rounded(values: Floats, bits: NDArray[np.int_]) -> Floats:
    result = np.empty_like(values)
    for head, kept in enumerate(bits):
        result[head] = rounded(values[head], int(kept))
    return result


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
        weights *= mask.any(-1, keepdim=True)  # a query without visible keys
    return weights.numpy()
