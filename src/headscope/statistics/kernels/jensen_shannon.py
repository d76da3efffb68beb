"""Jensen–Shannon divergence between the rows of all pairs of heads."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SMOOTHING = 0.001  # share of a row spread over all its keys, as the published code does


def divergences(maps: Tensor, length: int) -> NDArray[np.float64]:
    """heads × heads: Σ over rows of JS(a, b) in nats, for maps heads × rows × length.

    JS(a, b) = H((a + b) / 2) − (H(a) + H(b)) / 2, and each head's own entropy is needed once.
    """
    heads, rows, _ = maps.shape
    smooth = (maps.float() * (1 - SMOOTHING) + SMOOTHING / length).reshape(heads, -1)
    own = torch.zeros(heads, dtype=torch.float64)
    both = torch.zeros(heads, heads, dtype=torch.float64)
    for start in range(0, smooth.shape[1], 4096):
        part = smooth[:, start : start + 4096].contiguous()
        own += (part * part.log()).sum(1)
        for head in range(heads - 1):
            mixed = part[head + 1 :] + part[head]
            both[head, head + 1 :] += mixed.log().mul_(mixed).sum(1)
    # Σ m ln m of m = (a + b) / 2, from that of a + b
    half = both / 2 - math.log(2) * rows
    result = torch.triu((own[:, None] + own[None, :]) / 2 - half, 1)
    return (result + result.T).clamp_min(0).numpy()
