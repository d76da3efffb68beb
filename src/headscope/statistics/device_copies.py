"""Copies between main memory and a device that nobody waits for.

A copy from or to plain memory waits until the GPU has done all that it was given before.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.corpus.text.batches import sent as sent


@dataclass(frozen=True)
class Fetched:
    """Values on their way to main memory."""

    landing: Tensor
    arrived: torch.cuda.Event | None

    @staticmethod
    def of(values: Tensor) -> Fetched:
        if not values.is_cuda or not values.numel():
            return Fetched(values.cpu(), None)
        landing = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        landing.copy_(values, non_blocking=True)
        arrived = torch.cuda.Event()
        arrived.record()
        return Fetched(landing, arrived)

    @property
    def values(self) -> Tensor:
        """Waits until they are there."""
        if self.arrived is not None:
            self.arrived.synchronize()
        return self.landing
