"""Whether a Triton kernel can be used here: not guessed but tried. One that fails is left.

A kernel is compiled when it is first used. That needs a C compiler, a driver that knows the
compiled code, and a GPU with room for a tile; any of them may be missing, and the plain way then
gives the same numbers.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import torch
from torch import Tensor

from headscope.statistics.kernels.ahead import Kernel, settled

Made = TypeVar("Made")

_failed: set[Kernel] = set()


class Disagreement(RuntimeError):
    """A kernel gives other numbers than the plain one."""


@cache
def installed() -> bool:
    try:
        importlib.import_module("triton")
    except ImportError:
        return False
    return True


def usable(kernel: Kernel, tensor: Tensor) -> bool:
    """Whether the kernel can be tried on what this tensor is a part of."""
    on = tensor.is_cuda or os.environ.get("TRITON_INTERPRET") == "1"
    return on and kernel not in _failed and installed()


def has_logarithm() -> bool:
    """Whether kernels may name the instruction of NVIDIA's GPUs for it."""
    return os.environ.get("TRITON_INTERPRET") != "1" and torch.version.hip is None


def documents_at_once(heads: int) -> int:
    """Of a batch, given to a kernel together: a device has 65,535 rows for programs, and each head
    of each text takes one. A multiple of 16, so that the next begin at an address like the first.
    """
    return max(1, 65_535 // heads // 16 * 16)


def attempt(kernel: Kernel, work: Callable[[], Made]) -> Made | None:
    """What the kernel makes; None where it fails, which is said once."""
    settled(kernel)
    try:
        return work()
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # compilers, linkers and drivers raise what they like
        _failed.add(kernel)
        said = str(error).strip().splitlines()
        warnings.warn(
            f"The GPU kernel for {kernel} failed ({type(error).__name__}"
            f"{': ' + said[0][:200] if said else ''}); the slower plain one is used instead.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def wrong(mine: Tensor, plain: Tensor, valid: Tensor, apart: float, least: float = 1.0) -> Tensor:
    """Which values of a kernel are further from the plain ones than a share of the largest (or of
    `least`). Those of padded queries may be anything; what is no number, or has no end, in both is
    the same."""
    mine, plain = (of.float().masked_fill(~valid, 0.0) for of in (mine, plain))
    largest = plain.masked_fill(~plain.isfinite(), 0.0).abs().max().clamp_min(least)
    same = (mine == plain) | (mine.isnan() & plain.isnan())
    return ~(same | ((mine - plain).abs() <= apart * largest))
