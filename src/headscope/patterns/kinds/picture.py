"""Pictures: maps of any length as images of one size.

Two channels say what a map looks like whatever its length: the square root of the weight, in
which a strong line stands out, and the logarithm of weight × keys, in which uniform attention is
0 at any length. Long maps are pooled by their maximum, so that a thin line does not fade.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import adaptive_max_pool2d, interpolate

SIZE = 64
CHANNELS = 2
SPAN = 6.0  # binary orders of magnitude around uniform that are told apart


def picture(weights: NDArray[np.floating] | Tensor) -> Tensor:
    """One map (t s), cropped to its real tokens, as channels × SIZE × SIZE."""
    values = torch.as_tensor(weights, dtype=torch.float32).clamp(0, 1)
    keys = values.shape[1]
    lift = torch.log2((values * keys).clamp(min=2**-SPAN, max=2**SPAN)) / SPAN
    both = torch.stack([values.sqrt(), lift])[None]
    if max(values.shape) > SIZE:
        return adaptive_max_pool2d(both, SIZE)[0]
    return interpolate(both, (SIZE, SIZE), mode="nearest")[0]
