"""The weights of some queries, computed from q and k as the model computes them.

Only for calls whose weights are known to equal the model's own (see `verified`). The mask is
rebuilt from the batch's tokens, so that no queries × keys matrix is stored.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.capture.softmax import attention_weights
from headscope.statistics.features.grid import Grid


def can_rebuild(call: Call) -> bool:
    """Whether the call has all inputs of its weights, in a form that a kernel can rebuild."""
    if call.q is None or call.k is None or call.v is None or call.scaling is None:
        return False
    # an edit replaced the weights, or they are computed already
    if call.lazy_weights.made:
        return False
    # families disagree on windows in bidirectional attention
    return call.window is None or call.causal


def block_weights(
    call: Call, grid: Grid, documents: slice, queries: slice, out: Tensor | None = None
) -> Tensor:
    """b h tq s in float32: the weights of some queries of some documents of a call."""
    assert call.q is not None and call.k is not None and call.scaling is not None
    seen = visible(call, grid, documents, queries)
    return attention_weights(
        _exact(call.q[documents, :, queries]),
        _exact(call.k[documents]),
        call.scaling,
        softcap=call.softcap,
        bias=None if call.bias is None else _part(call.bias, documents, queries),
        visible=None if seen is None else seen[:, None],
        sinks=call.sinks,
        out=out,
    )


def row_weights(
    call: Call, weights: Tensor | None, grid: Grid, document: int, queries: Tensor
) -> Tensor:
    """h r s in float32: the weights of single queries of one document, stored or computed."""
    if weights is not None:
        return weights[document, :, queries.to(weights.device)].float()
    assert call.q is not None and call.k is not None and call.scaling is not None
    one = slice(document, document + 1)
    rows = queries.to(call.q.device)
    seen = visible(call, grid, one, rows)
    bias = call.bias
    if bias is not None:
        bias = bias if bias.shape[0] == 1 else bias[one]
        bias = bias if bias.shape[2] == 1 else bias[:, :, rows]
    return attention_weights(
        call.q[one, :, rows].float(),
        call.k[one].float(),
        call.scaling,
        softcap=call.softcap,
        bias=bias,
        visible=None if seen is None else seen[:, None],
        sinks=call.sinks,
    )[0]


def rows_of_texts(
    call: Call, weights: Tensor | None, grid: Grid, documents: Tensor, queries: Tensor
) -> Tensor:
    """n h s in float32: single queries of many documents in a few steps, which suits a GPU."""
    if weights is not None:
        return weights[documents, :, queries].float()
    assert call.q is not None and call.k is not None and call.scaling is not None
    seen = _seen_by(call, grid, documents, queries)
    bias = call.bias
    if bias is not None:
        first = documents if bias.shape[0] > 1 else torch.zeros_like(documents)
        second = queries if bias.shape[2] > 1 else torch.zeros_like(queries)
        bias = bias[first, :, second][:, :, None]
    return attention_weights(
        call.q[documents, :, queries][:, :, None].float(),
        call.k[documents].float(),
        call.scaling,
        softcap=call.softcap,
        bias=bias,
        visible=seen[:, None, None],
        sinks=call.sinks,
    )[:, :, 0]


def rows_of_heads(
    call: Call,
    weights: Tensor | None,
    grid: Grid,
    documents: Tensor,
    heads: Tensor,
    queries: Tensor,
) -> Tensor:
    """n s in float32: single rows, each of one document, head and query."""
    if weights is not None:
        return weights[documents, heads, queries].float()
    assert call.q is not None and call.k is not None and call.scaling is not None
    if call.sinks is not None:
        every = rows_of_texts(call, weights, grid, documents, queries)
        return every[torch.arange(len(heads), device=heads.device), heads]
    bias = call.bias
    if bias is not None:
        at = zip((documents, heads, queries), bias.shape, strict=False)
        bias = bias[tuple(of if size > 1 else torch.zeros_like(of) for of, size in at)]
        bias = bias[:, None, None]
    group = call.q.shape[1] // call.k.shape[1]
    return attention_weights(
        call.q[documents, heads, queries][:, None, None].float(),
        _picked(call.k, documents, heads // group)[:, None].float(),
        call.scaling,
        softcap=call.softcap,
        bias=bias,
        visible=_seen_by(call, grid, documents, queries)[:, None, None],
    )[:, 0, 0]


def _picked(values: Tensor, documents: Tensor, heads: Tensor) -> Tensor:
    """n s d: single heads of single documents, of b h s d; eight bytes at a time if contiguous,
    because a GPU needs as long for two."""
    wide = 8 // values.element_size()
    *outer, last = values.stride()
    starts = (values.shape[-1], values.storage_offset(), *outer)
    if last != 1 or any(start % wide for start in starts):
        return values[documents, heads]
    return values.view(torch.int64)[documents, heads].view(values.dtype)


def _seen_by(call: Call, grid: Grid, documents: Tensor, queries: Tensor) -> Tensor:
    """n s bool: the keys that single queries see."""
    seen = grid.key.valid[documents]
    if call.causal and call.kind != "cross":
        place = queries[:, None] + grid.offset
        key = torch.arange(seen.shape[1], device=seen.device)[None]
        seen = seen & (key <= place)
        if call.window is not None:
            seen = seen & (place - key < call.window)
    return seen


def block_output(call: Call, weights: Tensor, documents: slice) -> Tensor:
    """b tq h d: the weighted values."""
    assert call.v is not None
    v = call.v[documents]
    batch, heads, count, keys = weights.shape
    groups = v.shape[1]
    grouped = weights.reshape(batch, groups, heads // groups * count, keys)
    mixed = (grouped @ _exact(v)).view(batch, heads, count, v.shape[-1])
    return mixed.transpose(1, 2).to(v.dtype)


def _exact(values: Tensor) -> Tensor:
    """b h t d in float32; on a GPU contiguous per head, or a product would copy it again."""
    if values.is_cuda:
        return values.to(torch.float32, memory_format=torch.contiguous_format)
    return values.float()


def visible(call: Call, grid: Grid, documents: slice, queries: slice | Tensor) -> Tensor | None:
    """b|1 tq s bool: which keys each query may attend to; None for all."""
    valid = grid.key.valid[documents]
    seen = None if grid.all_keys_valid else valid[:, None, :]
    if call.causal and call.kind != "cross":
        keys = valid.shape[1]
        if isinstance(queries, slice):
            queries = torch.arange(queries.start, queries.stop, device=valid.device)
        place = queries.to(valid.device)[:, None] + grid.offset
        key = torch.arange(keys, device=valid.device)[None, :]
        order = key <= place
        if call.window is not None:
            order &= place - key < call.window
        seen = order[None] if seen is None else seen & order[None]
    return seen


def _part(tensor: Tensor, documents: slice, queries: slice) -> Tensor:
    chosen = tensor if tensor.shape[0] == 1 else tensor[documents]
    return chosen if chosen.shape[2] == 1 else chosen[:, :, queries]
