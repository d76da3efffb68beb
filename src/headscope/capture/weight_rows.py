"""The weights of some queries of a call, without making those of all."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.capture.call import Call, allowed


def weight_rows(call: Call, rows: Tensor) -> Tensor:
    """b h r s: the weights of the queries `rows` (r), as the model makes them from q and k."""
    if call.q is None or call.k is None or call.edited or call.lazy_weights.made:
        return call.weights[:, :, rows]
    return weights_of(call, call.q[:, :, rows], call.k, rows)


def weights_of(call: Call, q: Tensor, k: Tensor, rows: Tensor) -> Tensor:
    """b h r s in float32: the softmax the call would take of these q (b h r d) and k (b g s d).

    Scaling, soft-cap, positional bias, mask and sinks are the call's own.
    """
    batch, heads, count, dim = q.shape
    groups, keys = k.shape[1], k.shape[2]
    scaled = q.float() * (dim**-0.5 if call.scaling is None else call.scaling)
    grouped = scaled.reshape(batch, groups, heads // groups * count, dim)
    scores = (grouped @ k.float().transpose(2, 3)).view(batch, heads, count, keys)
    if call.softcap is not None:
        scores = torch.tanh(scores / call.softcap) * call.softcap
    for added in (call.bias, call.mask):
        if added is None:
            continue
        some = added if added.shape[2] == 1 else added[:, :, rows]
        if some.dtype == torch.bool:
            scores = scores.masked_fill(~some, float("-inf"))
        else:
            scores = (scores + some.float()).masked_fill(~allowed(some), float("-inf"))
    if call.sinks is None:
        return scores.softmax(-1)
    # sink logits take their share of every row and are then forgotten
    sinks = call.sinks.float().view(1, heads, 1, 1).expand(batch, heads, count, 1)
    return torch.cat([scores, sinks], dim=-1).softmax(-1)[..., :-1]
