"""Bring tensors to the host without making the device, or whoever feeds it, wait for them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor

WAITING = 4 * 10**9  # bytes that may stay on the device until a pass is over


@dataclass(frozen=True)
class _Awaited:
    tensor: Tensor
    made: torch.cuda.Event
    result: Tensor


class ToHost:
    """Copies of tensors on the host; those of a GPU are complete once `finish` has returned.

    A process that runs a large model is busy giving its GPU work, so nothing is copied meanwhile:
    tensors stay where they are until the last layer has been given out, and are then fetched while
    the GPU works it off. They pass through two buffers the GPU can write to by itself; such memory
    is slow to get, and a reading should not keep it.
    """

    def __init__(self) -> None:
        self._awaited: list[_Awaited] = []
        self._bytes = 0

    def __call__(self, tensor: Tensor | None, floats: bool = False) -> Tensor | None:
        """floats: in float32, else in the precision it has."""
        if tensor is None:
            return None
        tensor = tensor.detach()
        if floats:
            tensor = tensor.float()
        result = torch.empty(tensor.shape, dtype=tensor.dtype)
        if tensor.device.type != "cuda":
            return result.copy_(tensor)
        made = torch.cuda.Event()
        made.record(torch.cuda.current_stream(tensor.device))
        self._awaited.append(_Awaited(tensor, made, result))
        self._bytes += tensor.nbytes
        if self._bytes > WAITING:
            self.finish()
        return result

    def finish(self) -> None:
        awaited, self._awaited, self._bytes = self._awaited, [], 0
        if not awaited:
            return
        most = max(one.tensor.nbytes for one in awaited)
        buffers = [torch.empty(most, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
        streams = {one.tensor.device: torch.cuda.Stream(one.tensor.device) for one in awaited}
        under_way: tuple[_Awaited, Tensor, torch.cuda.Event] | None = None
        for one, buffer in zip(awaited, itertools.cycle(buffers)):
            stream = streams[one.tensor.device]
            stream.wait_event(one.made)
            held = buffer[: one.tensor.nbytes].view(one.tensor.dtype).view(one.tensor.shape)
            arrived = torch.cuda.Event()
            with torch.cuda.stream(stream):
                held.copy_(one.tensor, non_blocking=True)
                arrived.record()
            # while this one comes, the one before is put where it belongs
            _put(under_way)
            under_way = (one, held, arrived)
        _put(under_way)


def _put(under_way: tuple[_Awaited, Tensor, torch.cuda.Event] | None) -> None:
    if under_way is not None:
        one, held, arrived = under_way
        arrived.synchronize()
        one.result.copy_(held)
