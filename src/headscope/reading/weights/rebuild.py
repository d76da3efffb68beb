"""Weights from what made them: the model's softmax again, from q, k, mask, bias and sinks."""

from __future__ import annotations

import torch
from torch import Tensor


def softmax_of_scores(
    q: Tensor,  # h r d
    k: Tensor,  # g s d: head h of q looks at group h // (heads // groups)
    *,
    scaling: float,
    softcap: float | None = None,
    bias: Tensor | None = None,  # h r s
    seen: Tensor | None = None,  # r s bool
    sinks: Tensor | None = None,  # h
) -> Tensor:
    """h r s in float32, on the device of q."""
    heads, rows, dim = q.shape
    groups, keys = k.shape[:2]
    grouped = (q.float() * scaling).reshape(groups, heads // groups * rows, dim)
    scores = torch.bmm(grouped, k.float().transpose(1, 2)).view(heads, rows, keys)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if bias is not None:
        scores = scores + bias.to(scores)
    if seen is not None:
        # as the model does: a query that may look nowhere looks everywhere alike
        scores = scores.masked_fill_(~seen, torch.finfo(scores.dtype).min)
    if sinks is None:
        return torch.softmax(scores, dim=-1)
    # sink logits take their share of every row and are then forgotten
    sink = sinks.to(scores).view(heads, 1, 1).expand(heads, rows, 1)
    return torch.cat([scores, sink], dim=-1).softmax(-1)[..., :-1]
