"""A network in training as an array of bytes; opening a state never runs code."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NAME = "torch"


def packed(**state: Any) -> dict[str, NDArray[Any]]:
    """State dicts and torch's random state, as the arrays of a run's state."""
    import torch

    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    held = io.BytesIO()
    torch.save({**state, "random": [torch.get_rng_state(), *gpus]}, held)
    return {_NAME: np.frombuffer(held.getvalue(), dtype=np.uint8)}


def unpacked(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The unpacked state; also restores torch's random state."""
    import torch

    state = torch.load(io.BytesIO(arrays[_NAME].tobytes()), weights_only=True, map_location="cpu")
    random, *gpus = state.pop("random")
    torch.set_rng_state(random)
    if torch.cuda.is_available() and gpus:
        torch.cuda.set_rng_state_all(gpus)
    return state
