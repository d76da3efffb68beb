"""Uniform: every query attends uniformly, 1/L to each of the L real keys it may see.

A query of zeros does that if nothing is added to q·k, so a long text needs no map.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from headscope.capture import Call, Queries
from headscope.edits.modes import visible_keys
from headscope.errors import BadInput

UNEVEN = 1e-4  # share of a uniform weight: rounding stays below, a bias does not
UNEVEN_HALF = 0.02  # the same in half precision


def check(weights: object) -> None:
    if weights is not None:
        raise BadInput("The uniform mode takes no weights; use mode='given' to pass your own.")


def without_maps(call: Call, off: Sequence[int], weights: object) -> Queries | None:
    """Queries of zeros for these heads; None where the model would not make uniform attention."""
    added = call.bias is not None or call.sinks is not None
    if call.again is None or call.q is None or call.edited or added:
        return None
    q = call.q.clone()
    q[:, list(off)] = 0
    t = q.shape[2]
    some = torch.tensor(sorted({t // 3, t // 2, t - 1}), device=q.device)
    rows = call.again(q).rows(some)
    if rows is None:
        return None
    rows = rows[:, list(off)].float()
    # anything a family adds would show: uniform weights are 1 over the visible keys
    uneven = (rows.amax(-1) * (rows > 0).sum(-1) - 1).abs().max()
    most = UNEVEN if q.dtype in (torch.float32, torch.float64) else UNEVEN_HALF
    return Queries(q) if bool(uneven < most) else None


def instead(call: Call, weights: object) -> Tensor:
    seen = visible_keys(call)  # b|1 1|h t s
    count = seen.sum(dim=-1, keepdim=True)
    even = seen.to(torch.float64) / count.clamp(min=1)
    # a padded query of a causal model may see no key: its row keeps the model's numbers
    weights_before = call.weights
    return torch.where(count > 0, even.to(weights_before.dtype), weights_before)
