"""Arrays a reading holds: in memory, in a file, or made when asked for.

They stay in the precision the model computed in (numpy has no bfloat16, so they are tensors), and
a head of a large array can be had without the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Held(Protocol):
    """An array whose first axis is heads, groups of heads, or queries."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int:
        """What it takes in memory as long as the reading lives."""
        ...

    def tensor(self, first: slice = slice(None)) -> Tensor:
        """The entries of the first axis that are asked for, on the host."""
        ...


@dataclass(frozen=True, eq=False)
class InMemory:
    values: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    def tensor(self, first: slice = slice(None)) -> Tensor:
        return self.values[first]


@dataclass(frozen=True, eq=False)
class InFile:
    """A tensor of a safetensors file that stays open; the system reads the pages asked for."""

    file: Any  # what safetensors.safe_open gives
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.file.get_slice(self.name).get_shape())

    @property
    def nbytes(self) -> int:
        return 0

    def tensor(self, first: slice = slice(None)) -> Tensor:
        if first == slice(None):
            return self.file.get_tensor(self.name)
        return self.file.get_slice(self.name)[first]

    def __deepcopy__(self, memo: dict[int, Any]) -> InFile:
        return self  # nothing can change it

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process may not see the file, or see another one in its place."""
        return InMemory, (self.tensor(),)


@dataclass(frozen=True, eq=False)
class Made:
    """Computed whenever it is asked for, and not kept."""

    shape: tuple[int, ...]
    make: Callable[[slice], Tensor]
    nbytes: int = 0

    def tensor(self, first: slice = slice(None)) -> Tensor:
        return self.make(first)


def hold(values: Any) -> Held | None:
    """Arrays and tensors as they come, and what is held already."""
    if values is None or hasattr(values, "tensor"):
        return values
    return InMemory(values if isinstance(values, Tensor) else torch.from_numpy(np.asarray(values)))


def as_floats(tensor: Tensor) -> NDArray[np.float32]:
    return tensor.detach().to(torch.float32).numpy()


def float_bytes(shape: tuple[int, ...]) -> int:
    return 4 * prod(shape)
