"""Memory of the host that a GPU writes to by itself, while the processor does other things.

Getting it is slow (half a gigabyte takes 0.2 s), so torch keeps what was given back for the next
reading; and it cannot be swapped out, so all readings together hold no more of it than `MOST`.
"""

from __future__ import annotations

import threading
import weakref

import torch
from torch import Tensor

MOST = 10**9  # bytes

_lock = threading.Lock()
_held = 0


def held() -> int:
    """Bytes that readings hold at present."""
    return _held


def pinned_like(tensor: Tensor) -> Tensor | None:
    """Room for a copy of a tensor; None where too much is held, or the system gives none."""
    global _held
    size = tensor.nbytes
    with _lock:
        if _held + size > MOST:
            return None
        _held += size
    try:
        result = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    except RuntimeError:
        _give_back(size)
        return None
    weakref.finalize(result, _give_back, size)
    return result


def _give_back(size: int) -> None:
    global _held
    with _lock:
        _held -= size
