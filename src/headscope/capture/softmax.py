"""Attention weights from what makes them: the one softmax of headscope in Python.

The model's own function makes the weights of a pass; this one makes them again from q and k where
they were not kept, block by block, or with some of their parts left out.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.capture.call import Call, allowed


def attention_weights(
    q: Tensor,  # b h t d
    k: Tensor,  # b g s d
    scaling: float,
    *,
    softcap: float | None = None,
    bias: Tensor | None = None,  # b|1 h|1 t s
    visible: Tensor | None = None,  # b|1 h|1 t s bool
    sinks: Tensor | None = None,  # h
    out: Tensor | None = None,  # b h t s, output buffer
) -> Tensor:
    """b h t s, in the precision of q and k: softmax of scaled, capped, biased, masked scores."""
    scores = attention_scores(q, k, scaling, softcap=softcap, bias=bias)
    return weights_of_scores(scores, visible=visible, sinks=sinks, out=out)


def attention_scores(
    q: Tensor,  # b h t d
    k: Tensor,  # b g s d
    scaling: float,
    *,
    softcap: float | None = None,
    bias: Tensor | None = None,  # b|1 h|1 t s
) -> Tensor:
    """b h t s: the input of the softmax, before the mask."""
    batch, heads, count, dim = q.shape
    groups, keys = k.shape[1], k.shape[2]
    grouped = (q * scaling).reshape(batch, groups, heads // groups * count, dim)
    scores = (grouped @ k.transpose(2, 3)).view(batch, heads, count, keys)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    return scores if bias is None else scores + bias


def weights_of_scores(
    scores: Tensor,  # b h t s; may be overwritten
    *,
    visible: Tensor | None = None,
    sinks: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    if visible is not None:
        scores = scores.masked_fill_(~visible, torch.finfo(scores.dtype).min)
    if sinks is None:
        return torch.softmax(scores, -1, out=out)
    # sink logits take a share of every row and are then dropped
    batch, heads, count, _ = scores.shape
    extra = sinks.to(scores.dtype).view(1, heads, 1, 1).expand(batch, heads, count, 1)
    weights = torch.cat([scores, extra], dim=-1).softmax(-1)[..., :-1]
    return weights if out is None else out.copy_(weights)


# The weights of some queries of a call, without making those of all.


def weight_rows(call: Call, rows: Tensor) -> Tensor:
    """b h r s: the weights of the queries `rows` (r), as the model makes them from q and k."""
    if call.edited and not call.lazy_weights.made and call.lazy_rows is not None:
        made = call.lazy_rows(rows)
        return call.weights[:, :, rows] if made is None else made
    if call.q is None or call.k is None or call.edited or call.lazy_weights.made:
        return call.weights[:, :, rows]
    return weights_of(call, call.q[:, :, rows], call.k, rows)


def weights_of(
    call: Call,
    q: Tensor,
    k: Tensor,
    rows: Tensor,
    *,
    keys: Tensor | None = None,  # the positions of k, if not all
    kept: Tensor | None = None,  # b|1 1|h r s, the keys that count
) -> Tensor:
    """b h r s in float32: the softmax the call would take of these q (b h r d) and k (b g s d).

    Scaling, soft-cap, positional bias, mask and sinks are the call's own.
    """
    bias, visible = None, kept
    added = call.bias
    if added is not None and added.shape[2] != 1:
        added = added[:, :, rows]
    for some in (added, call.mask_of(rows)):
        if some is None:
            continue
        if keys is not None and some.shape[-1] != 1:
            some = some[..., keys]
        visible = allowed(some) if visible is None else visible & allowed(some)
        if some.dtype != torch.bool:
            bias = some.float() if bias is None else bias + some.float()
    scaling = q.shape[-1] ** -0.5 if call.scaling is None else call.scaling
    return attention_weights(
        q.float(), k.float(), scaling, softcap=call.softcap, bias=bias, visible=visible,
        sinks=call.sinks,
    )  # fmt: skip
