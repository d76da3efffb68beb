"""Copy tensors to the host without making the device or the calling thread wait."""

from __future__ import annotations

import itertools
import threading
import weakref
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

    The GPU copies into pinned memory while the forward pass goes on, on a stream of its own. What
    does not fit there stays on the device until the last layer is launched, because the process is
    busy launching, and is then copied through two pinned buffers into ordinary memory.
    """

    def __init__(self) -> None:
        self._awaited: list[_Awaited] = []
        self._bytes = 0
        self._streams: dict[torch.device, torch.cuda.Stream] = {}

    def __call__(self, tensor: Tensor | None, floats: bool = False) -> Tensor | None:
        """floats: in float32, else in the tensor's precision."""
        if tensor is None:
            return None
        tensor = tensor.detach()
        if floats:
            tensor = tensor.float()
        if tensor.device.type != "cuda":
            return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor)
        made = torch.cuda.Event()
        made.record(torch.cuda.current_stream(tensor.device))
        pinned = pinned_like(tensor)
        if pinned is not None:
            self._send(tensor, made, pinned)
            return pinned
        result = torch.empty(tensor.shape, dtype=tensor.dtype)
        self._awaited.append(_Awaited(tensor, made, result))
        self._bytes += tensor.nbytes
        if self._bytes > WAITING:
            self._fetch()
        return result

    def finish(self) -> None:
        self._fetch()
        for stream in self._streams.values():
            stream.synchronize()

    def _send(self, tensor: Tensor, made: torch.cuda.Event, to: Tensor) -> torch.cuda.Stream:
        """Have the GPU copy a tensor, when it is ready, into pinned memory."""
        device = tensor.device
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)
        stream = self._streams[device]
        stream.wait_event(made)
        tensor.record_stream(stream)  # its memory is not reused before the copy ends
        with torch.cuda.stream(stream):
            to.copy_(tensor, non_blocking=True)
        return stream

    def _fetch(self) -> None:
        awaited, self._awaited, self._bytes = self._awaited, [], 0
        if not awaited:
            return
        most = max(one.tensor.nbytes for one in awaited)
        buffers = [torch.empty(most, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
        under_way: tuple[_Awaited, Tensor, torch.cuda.Event] | None = None
        for one, buffer in zip(awaited, itertools.cycle(buffers)):
            held = buffer[: one.tensor.nbytes].view(one.tensor.dtype).view(one.tensor.shape)
            arrived = torch.cuda.Event()
            arrived.record(self._send(one.tensor, one.made, held))
            # while this one arrives, the one before is copied to its destination
            _put(under_way)
            under_way = (one, held, arrived)
        _put(under_way)


def _put(under_way: tuple[_Awaited, Tensor, torch.cuda.Event] | None) -> None:
    if under_way is not None:
        one, held, arrived = under_way
        arrived.synchronize()
        one.result.copy_(held)


# Memory of the host that a GPU writes to by itself, while the processor does other things.
#
# Allocating it is slow (half a gigabyte takes 0.2 s), so torch keeps freed memory for the next
# reading. It cannot be swapped out, so all readings together use at most `MOST`.

MOST = 10**9  # bytes

_lock = threading.Lock()
_held = 0


def held() -> int:
    """Bytes that readings use at present."""
    return _held


def pinned_like(tensor: Tensor) -> Tensor | None:
    """Memory for a copy of a tensor; None if too much is used, or the system has none."""
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
