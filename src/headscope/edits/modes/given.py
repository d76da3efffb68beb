"""Given: the caller's own weights.

`weights` is an array that broadcasts to batch, head, query, key, or a function of the call that
returns one. Weights on keys that a query may not see are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from headscope.capture import Call
from headscope.errors import BadInput


def check(weights: object) -> None:
    if weights is None:
        raise BadInput("Pass the weights to attend with: without(..., mode='given', weights=...).")


def instead(call: Call, weights: object) -> Tensor:
    made: Any = cast(Callable[[Call], Any], weights)(call) if callable(weights) else weights
    before = call.weights
    tensor = made if isinstance(made, Tensor) else torch.from_numpy(np.array(made))
    tensor = tensor.to(before.device, before.dtype)
    try:
        return tensor.expand(before.shape)
    except RuntimeError:
        wanted = tuple(before.shape)
        raise BadInput(
            f"The given weights have shape {tuple(tensor.shape)}, which does not fit the "
            f"{wanted[2]} queries and {wanted[3]} keys of this text (batch, head, query, key: "
            f"{wanted})."
        ) from None
