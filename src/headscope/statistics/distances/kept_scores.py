"""Room for q and k of every layer of a batch, or its weights; the same room for the next batch.

Kept as the model made them they would lie between what it makes and frees layer by layer: the holes
are too small for the next large piece, and a process takes a third more memory (`_pages`).
"""

from __future__ import annotations

import dataclasses
import math
import mmap

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call
from headscope.capture.call import Lazy


class KeptScores:
    """Calls with nothing but their weights, or what makes them again."""

    def __init__(self) -> None:
        self._room: dict[tuple[str, int], Tensor] = {}  # what, which call of the batch

    def for_weights(self, call: Call, number: int) -> Tensor | None:
        """b h t s float32, to be filled: where weights take no more room than q and k, as of short
        texts, having them costs less than making them again."""
        assert call.q is not None and call.k is not None
        shape = (*call.q.shape[:3], call.k.shape[2])
        if call.q.device.type != "cpu" or math.prod(shape) > call.q.numel() + call.k.numel():
            return None
        held = self._held(math.prod(shape), torch.float32, ("weights", number))
        return held[: math.prod(shape)].view(shape)

    def of(self, call: Call, number: int, weights: Tensor | None = None) -> Call:
        """The call with its own q and k, or its weights, until the next one of that number is
        kept."""
        assert call.q is not None and call.k is not None
        if call.q.device.type != "cpu":  # a GPU's memory is looked after by torch
            return call
        return dataclasses.replace(
            call,
            q=self._copied(call.q, ("q", number)) if weights is None else None,
            k=self._copied(call.k, ("k", number)) if weights is None else None,
            v=None,
            lazy_mask=Lazy.of(None),
            lazy_weights=Lazy.of(weights),
            lazy_rows=None,
            given_mask=None,
        )

    def _copied(self, tensor: Tensor, at: tuple[str, int]) -> Tensor:
        tensor = tensor.detach()
        held = self._held(tensor.numel(), tensor.dtype, at)
        # laid out as it was, so that products of it are the same to the last bit
        strides = torch.empty_like(tensor, device="meta").stride()
        return held.as_strided(tensor.shape, strides).copy_(tensor)

    def _held(self, count: int, dtype: torch.dtype, at: tuple[str, int]) -> Tensor:
        held = self._room.get(at)
        if held is None or held.dtype != dtype or held.numel() < count:
            pages = _pages(count * dtype.itemsize)
            held = self._room[at] = torch.from_numpy(pages).view(dtype)
        return held


def _pages(size: int) -> NDArray[np.uint8]:
    """Zeros on pages of their own, which go back to the system when the array does."""
    return np.frombuffer(mmap.mmap(-1, max(1, size)), dtype=np.uint8, count=size)
