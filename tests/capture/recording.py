"""A sink that remembers calls, and small inputs to run models on."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.capture import Call


class Recording:
    """Keeps every call it is shown; returns what it is told to."""

    def __init__(self, answer: Tensor | None = None) -> None:
        self.calls: list[Call] = []
        self.answer = answer

    def __call__(self, call: Call) -> Tensor | None:
        self.calls.append(call)
        return self.answer

    @property
    def places(self) -> list[tuple[str, int]]:
        return [(call.kind, call.layer) for call in self.calls]


def some_ids(length: int = 8, batch: int = 1, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(5, 60, (batch, length), generator=generator)
