"""All weights of some documents and what they make of the values, in few looks at memory.

As `scores` makes them block by block, in single precision; but q, k and v are widened and laid out
for the products in one step each, the scale is part of a product, and the output is rounded where
it is stored. On a GPU each further look at a batch's numbers costs as much as a product.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.capture.softmax import weights_of_scores
from headscope.statistics.features.grid import Grid
from headscope.statistics.kernels.scores import block_output, block_weights, visible


def rows_of(call: Call, grid: Grid, some: slice, output: Tensor) -> Tensor:
    """b h t s in float32, contiguous; their output is written to `output` (b t h d)."""
    assert call.q is not None and call.k is not None and call.v is not None
    assert call.scaling is not None
    every = slice(0, call.q.shape[2])
    if call.bias is not None or call.softcap is not None:
        weights = block_weights(call, grid, some, every)
        output.copy_(block_output(call, weights, some))
        return weights.contiguous()
    q, k, v = (_widened(of[some]) for of in (call.q, call.k, call.v))
    batch, heads, queries, dim = q.shape
    groups, keys = k.shape[1], k.shape[2]
    shape = (batch * groups, heads // groups * queries)
    scores = q.new_empty(*shape, keys)
    turned = k.view(-1, keys, dim).transpose(1, 2)
    scores.baddbmm_(q.view(*shape, dim), turned, beta=0, alpha=call.scaling)
    del q, k, turned
    seen = visible(call, grid, some, every)
    weights = weights_of_scores(
        scores.view(batch, heads, queries, keys),
        visible=None if seen is None else seen[:, None],
        sinks=call.sinks,
    ).contiguous()
    mixed = torch.bmm(weights.view(*shape, keys), v.view(-1, keys, v.shape[-1]))
    output.copy_(mixed.view(batch, heads, queries, -1).transpose(1, 2))
    return weights


def _widened(tensor: Tensor) -> Tensor:
    """In float32 and contiguous, by one copy where it is not."""
    if tensor.dtype == torch.float32 and tensor.is_contiguous():
        return tensor
    return tensor.new_empty(tensor.shape, dtype=torch.float32).copy_(tensor)
