"""The weights that values are mixed with, where a family takes its sinks out of the output.

Granite's sliding layers give rows that sum to one and then scale what they mixed by the share that
the sink left over. That is an extra logit in the softmax, and is shown as gpt-oss shows its own:
the weights times that share. Values of one, mixed as the family mixes them, tell what it is.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Mixed = Callable[[Tensor], Tensor]  # values (b g s d) in, what the family's function makes of them


def mixing_weights(weights: Tensor, value: Tensor, mixed: Mixed) -> Tensor:
    """b h t s as the output is made of them; those that leave room for a sink are so already."""
    total = weights.float().sum(-1, keepdim=True)
    tolerance = 1e-4 if weights.dtype == torch.float32 else 1e-2
    if bool((total < 1 - tolerance).any()):
        return weights
    share = mixed(value.new_ones(*value.shape[:3], 1)).transpose(1, 2).float()  # b h t 1
    return (weights * (share / total)).to(weights.dtype)
