"""Bring tensors to the host while the device goes on working."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

UNDER_WAY = 8  # tensors between the device and their place on the host


class ToHost:
    """Copies of tensors on the host; those of a GPU are complete once `finish` has returned.

    A GPU writes by itself only into memory that is held in place for it. Such memory is slow to
    get and must not be hoarded, so it is only passed through: a thread carries what has arrived on.
    """

    def __init__(self) -> None:
        self._streams: dict[torch.device, torch.cuda.Stream] = {}
        self._carrier: ThreadPoolExecutor | None = None
        self._room = threading.Semaphore(UNDER_WAY)
        self._carried: list[Future[None]] = []

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
        self._from_gpu(tensor, result)
        return result

    def _from_gpu(self, tensor: Tensor, result: Tensor) -> None:
        device = tensor.device
        if self._carrier is None:
            self._carrier = ThreadPoolExecutor(1)
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)
        stream = self._streams[device]
        self._room.acquire()
        passed = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            passed.copy_(tensor, non_blocking=True)
            arrived = torch.cuda.Event()
            arrived.record()
        tensor.record_stream(stream)

        def carry() -> None:
            arrived.synchronize()
            result.copy_(passed)
            self._room.release()

        self._carried.append(self._carrier.submit(carry))

    def finish(self) -> None:
        for one in self._carried:
            one.result()
        self._carried.clear()
        if self._carrier is not None:
            self._carrier.shutdown()
            self._carrier = None
