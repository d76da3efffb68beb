"""Uniform: every query spreads its attention evenly, 1/L over the L real keys it may look at."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.edits.visible import visible_keys
from headscope.errors import BadInput


def check(weights: object) -> None:
    if weights is not None:
        raise BadInput("The uniform mode takes no weights; use mode='given' to pass your own.")


def instead(call: Call, weights: object) -> Tensor:
    seen = visible_keys(call)  # b|1 1|h t s
    count = seen.sum(dim=-1, keepdim=True)
    even = seen.to(torch.float64) / count.clamp(min=1)
    # a padded query of a causal model may see nothing at all: its row keeps the model's numbers
    weights_before = call.weights
    return torch.where(count > 0, even.to(weights_before.dtype), weights_before)
