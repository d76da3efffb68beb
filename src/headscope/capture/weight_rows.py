"""The weights of some queries of a call, without making those of all."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.capture.call import Call, allowed
from headscope.capture.softmax import attention_weights


def weight_rows(call: Call, rows: Tensor) -> Tensor:
    """b h r s: the weights of the queries `rows` (r), as the model makes them from q and k."""
    if call.q is None or call.k is None or call.edited or call.lazy_weights.made:
        return call.weights[:, :, rows]
    return weights_of(call, call.q[:, :, rows], call.k, rows)


def weights_of(call: Call, q: Tensor, k: Tensor, rows: Tensor) -> Tensor:
    """b h r s in float32: the softmax the call would take of these q (b h r d) and k (b g s d).

    Scaling, soft-cap, positional bias, mask and sinks are the call's own.
    """
    bias, visible = None, None
    added = call.bias
    if added is not None and added.shape[2] != 1:
        added = added[:, :, rows]
    for some in (added, call.mask_of(rows)):
        if some is None:
            continue
        visible = allowed(some) if visible is None else visible & allowed(some)
        if some.dtype != torch.bool:
            bias = some.float() if bias is None else bias + some.float()
    scaling = q.shape[-1] ** -0.5 if call.scaling is None else call.scaling
    return attention_weights(
        q.float(), k.float(), scaling, softcap=call.softcap, bias=bias, visible=visible,
        sinks=call.sinks,
    )  # fmt: skip
