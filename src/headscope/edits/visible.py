"""Which keys each query of a call may look at."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.capture.call import allowed


def visible_keys(call: Call) -> Tensor:
    """b|1 1|h t s, True where the model lets a query look: real keys, not the future.

    A dense mask says it all. Without one, what remains is the causal order and the window, both
    counted from the end, because in generation the queries are the last tokens of the keys.
    """
    if call.mask is not None:
        return allowed(call.mask)
    queries, keys = call.weights.shape[2:]
    device = call.weights.device
    place = torch.arange(keys - queries, keys, device=device)[:, None]
    key = torch.arange(keys, device=device)[None, :]
    seen = torch.ones(queries, keys, dtype=torch.bool, device=device)
    if call.causal and call.kind != "cross":
        seen &= key <= place
    if call.window is not None:
        seen &= (place - key).abs() < call.window
    return seen[None, None] & call.valid_keys[:, None, None, :]
