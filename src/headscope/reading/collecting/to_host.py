"""Bring tensors to the host while the device goes on working."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

UNDER_WAY = 8  # tensors between the device and their place on the host
HELD = 10**9  # bytes of a reading that stay where the device wrote them


class ToHost:
    """Copies of tensors on the host; those of a GPU are complete once `finish` has returned.

    A GPU writes by itself only into memory that is held in place for it. Such memory is slow to
    get and must not be hoarded: a reading keeps some of it, which the next one finds again, and
    what is beyond that only passes through, a thread carrying on what has arrived.
    """

    def __init__(self) -> None:
        self._streams: dict[torch.device, torch.cuda.Stream] = {}
        self._carrier: ThreadPoolExecutor | None = None
        self._room = threading.Semaphore(UNDER_WAY)
        self._carried: list[Future[None]] = []
        self._bytes = 0

    def __call__(self, tensor: Tensor | None, floats: bool = False) -> Tensor | None:
        """floats: in float32, else in the precision it has."""
        if tensor is None:
            return None
        tensor = tensor.detach()
        if floats:
            tensor = tensor.float()
        if tensor.device.type != "cuda":
            return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor)
        self._bytes += tensor.nbytes
        if self._bytes <= HELD:
            return self._arriving(tensor)[0]
        return self._passed_on(tensor)

    def _arriving(self, tensor: Tensor) -> tuple[Tensor, torch.cuda.Event]:
        """In memory the device writes to, once the event has come."""
        device = tensor.device
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)
        stream = self._streams[device]
        held = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        stream.wait_stream(torch.cuda.current_stream(device))
        arrived = torch.cuda.Event()
        with torch.cuda.stream(stream):
            held.copy_(tensor, non_blocking=True)
            arrived.record()
        tensor.record_stream(stream)
        return held, arrived

    def _passed_on(self, tensor: Tensor) -> Tensor:
        if self._carrier is None:
            self._carrier = ThreadPoolExecutor(1)
        self._room.acquire()
        passed, arrived = self._arriving(tensor)
        result = torch.empty(tensor.shape, dtype=tensor.dtype)

        def carry() -> None:
            arrived.synchronize()
            result.copy_(passed)
            self._room.release()

        self._carried.append(self._carrier.submit(carry))
        return result

    def finish(self) -> None:
        for stream in self._streams.values():
            stream.synchronize()
        for one in self._carried:
            one.result()
        self._carried.clear()
        if self._carrier is not None:
            self._carrier.shutdown()
            self._carrier = None
