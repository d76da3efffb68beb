"""A reading's arrays: in memory, in a file, or computed on use.

They keep the model's precision (numpy has no bfloat16, so they are tensors), and one head of a
large array can be read without the rest.
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
        """Its bytes in memory as long as the reading lives."""
        ...

    def tensor(self, first: slice = slice(None)) -> Tensor:
        """The requested entries of the first axis, on the host."""
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
    """A tensor of a safetensors file that stays open; the system reads pages on use."""

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
        """Pickle the values: another process may not see the file, or see another one."""
        return InMemory, (self.tensor(),)


@dataclass(frozen=True, eq=False)
class Made:
    """Computed on each use, and not kept."""

    shape: tuple[int, ...]
    make: Callable[[slice], Tensor]
    nbytes: int = 0

    def tensor(self, first: slice = slice(None)) -> Tensor:
        return self.make(first)


def hold(values: Any) -> Held | None:
    """Wrap arrays and tensors; held arrays are returned unchanged."""
    if values is None or hasattr(values, "tensor"):
        return values
    return InMemory(values if isinstance(values, Tensor) else torch.from_numpy(np.asarray(values)))


def as_floats(tensor: Tensor) -> NDArray[np.float32]:
    return tensor.detach().to(torch.float32).numpy()


def float_bytes(shape: tuple[int, ...]) -> int:
    return 4 * prod(shape)


# Masks and positional biases in their shortest exact form: a rule, or numbers by distance.
#
# A causal mask of 32,000 tokens takes a gigabyte as a matrix and nothing as a rule.


@dataclass(frozen=True, eq=False)
class Mask:
    """Which keys each query may attend to; the last query is at the last key."""

    shape: tuple[int, int]  # t s
    window: int | None = None  # a rule's window: keys at a smaller distance
    causal: bool = True
    bits: Tensor | None = None  # t s bool, if no rule describes it

    @staticmethod
    def of(seen: Tensor | None) -> Mask | None:  # t s bool, True where a query may look
        if seen is None or bool(seen.all()):
            return None
        shape = (seen.shape[0], seen.shape[1])
        reach = shape[1] - int(seen[-1].int().argmax())  # of the last query, its own key included
        last = Mask(shape, None if reach == shape[1] else reach)
        for rule in (Mask(shape), last, Mask(shape, last.window, causal=False)):
            if torch.equal(rule.rows(slice(None), seen.device), seen):
                return rule
        return Mask(shape, bits=seen.cpu().clone())

    @property
    def nbytes(self) -> int:
        return 0 if self.bits is None else self.bits.nbytes

    def rows(
        self, chosen: Any = slice(None), device: Any = "cpu", columns: slice = slice(None)
    ) -> Tensor:
        """r s bool of some queries: a slice, or a tensor of any shape that numbers them.

        `columns`: of these keys alone.
        """
        if self.bits is not None:
            chosen = chosen.cpu() if isinstance(chosen, Tensor) else chosen
            return self.bits[chosen][..., columns].to(device)
        queries, keys = self.shape
        every = torch.arange(max(queries, keys), dtype=torch.int32, device=device)
        back = every[:queries][chosen][..., None] + (keys - queries) - every[:keys][columns]
        seen = back >= 0 if self.causal else torch.ones_like(back, dtype=torch.bool)
        if self.window is not None:
            seen &= back.abs() < self.window
        return seen

    def seen_by_all(self, queries: slice) -> int:
        """How many of the first keys every query of a slice sees."""
        if self.bits is not None or self.window is not None or not self.causal:
            return 0
        return max(0, (queries.start or 0) + self.shape[1] - self.shape[0] + 1)

    def described(self) -> dict[str, Any] | None:
        """The rule as plain values; None for bits."""
        if self.bits is not None:
            return None
        return {"shape": list(self.shape), "window": self.window, "causal": self.causal}


@dataclass(frozen=True, eq=False)
class Bias:
    """The positional bias of the scores: a number for each distance, or for each pair."""

    values: Tensor  # h t+s-1 (query i, key j at j - i + t - 1), or h t s
    queries: int

    @staticmethod
    def of(dense: Tensor) -> Bias:  # h t s
        heads, queries, keys = dense.shape
        relative = torch.cat([dense[:, 1:, 0].flip(1), dense[:, 0]], dim=1).contiguous()
        width = queries + keys - 1
        by_distance = relative.as_strided((heads, queries, keys), (width, 1, 1))
        same = torch.isclose(by_distance, dense.flip(1), rtol=0, atol=1e-6).all()
        return Bias((relative if bool(same) else dense).detach().float().cpu().clone(), queries)

    @property
    def relative(self) -> bool:
        return self.values.dim() == 2

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    def rows(self, heads: slice = slice(None), chosen: Any = slice(None)) -> Tensor:
        """h r s of some queries."""
        if not self.relative:
            return self.values[heads][:, chosen]
        keys = self.values.shape[1] - self.queries + 1
        start = self.queries - 1 - torch.arange(self.queries)[chosen]
        return self.values[heads][:, start[..., None] + torch.arange(keys)]
