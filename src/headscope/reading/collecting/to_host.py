"""Bring tensors to the host while the device goes on working."""

from __future__ import annotations

import torch
from torch import Tensor


class ToHost:
    """Copies of tensors on the host; those of a GPU are complete once `finish` has returned."""

    def __init__(self) -> None:
        self._streams: dict[torch.device, torch.cuda.Stream] = {}

    def __call__(self, tensor: Tensor | None, floats: bool = False) -> Tensor | None:
        """floats: in float32, else in the precision it has."""
        if tensor is None:
            return None
        tensor = tensor.detach()
        if floats:
            tensor = tensor.float()
        if tensor.device.type != "cuda":
            return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor)
        return self._from_gpu(tensor)

    def _from_gpu(self, tensor: Tensor) -> Tensor:
        """On a stream of its own into memory the device can write to by itself."""
        device = tensor.device
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)
        stream = self._streams[device]
        stream.wait_stream(torch.cuda.current_stream(device))
        result = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        with torch.cuda.stream(stream):
            result.copy_(tensor, non_blocking=True)
        tensor.record_stream(stream)
        return result

    def finish(self) -> None:
        for stream in self._streams.values():
            stream.synchronize()
