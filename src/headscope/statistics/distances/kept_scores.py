"""Room for q and k of every layer of a batch, the same room for the next batch.

Kept as the model made them they would lie between what it makes and frees layer by layer: the holes
are too small for the next large piece, and a process takes a third more memory (`runs.memory`).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from headscope.capture import Call
from headscope.capture.call import Lazy
from headscope.runs import room


class KeptScores:
    """Calls with nothing but what makes their weights again."""

    def __init__(self) -> None:
        self._room: dict[tuple[str, int], Tensor] = {}  # what, which call of the batch

    def of(self, call: Call, number: int) -> Call:
        """The call with its own q and k, until the next one of that number is kept."""
        assert call.q is not None and call.k is not None
        if call.q.device.type != "cpu":  # a GPU's memory is looked after by torch
            return call
        return dataclasses.replace(
            call,
            q=self._copied(call.q, ("q", number)),
            k=self._copied(call.k, ("k", number)),
            v=None,
            lazy_mask=Lazy.of(None),
            lazy_weights=Lazy.of(None),
            lazy_rows=None,
            given_mask=None,
        )

    def _copied(self, tensor: Tensor, at: tuple[str, int]) -> Tensor:
        tensor = tensor.detach()
        held = self._room.get(at)
        if held is None or held.dtype != tensor.dtype or held.numel() < tensor.numel():
            size = (tensor.numel() * tensor.element_size(),)
            held = self._room[at] = torch.from_numpy(room(size, np.uint8)).view(tensor.dtype)
        # laid out as it was, so that products of it are the same to the last bit
        strides = torch.empty_like(tensor, device="meta").stride()
        return held.as_strided(tensor.shape, strides).copy_(tensor)
