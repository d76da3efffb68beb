"""Whether a Triton kernel can be used here, found by trying it.

Triton compiles a kernel on its first use. That needs a C compiler, a driver that knows the compiled
code, and a GPU with room for a tile. If one of them is missing, the plain path gives the same
numbers.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from typing import Literal, TypeVar

import torch
from torch import Tensor

Kernel = Literal["survey", "row"]
Made = TypeVar("Made")

_failed: set[Kernel] = set()


@cache
def installed() -> bool:
    try:
        importlib.import_module("triton")
    except ImportError:
        return False
    return True


def usable(kernel: Kernel, tensor: Tensor) -> bool:
    """Whether the kernel can be tried on a tensor like this one."""
    return kernel not in _failed and kernels_run_on(tensor)


def kernels_run_on(tensor: Tensor) -> bool:
    """Whether Triton compiles for the device of a tensor."""
    return (tensor.is_cuda or os.environ.get("TRITON_INTERPRET") == "1") and installed()


def has_logarithm() -> bool:
    """Whether kernels may use the logarithm instruction of NVIDIA's GPUs."""
    return os.environ.get("TRITON_INTERPRET") != "1" and torch.version.hip is None


def documents_at_once(heads: int) -> int:
    """How many texts one launch takes: a device has 65,535 rows for programs, one per text and
    head. A multiple of 16, so that the next launch begins at an address like the first."""
    return max(1, 65_535 // heads // 16 * 16)


def attempt(kernel: Kernel, work: Callable[[], Made]) -> Made | None:
    """The kernel's result, or None if it fails; the first failure warns."""
    try:
        return work()
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # compilers, linkers and drivers may raise anything
        _failed.add(kernel)
        lines = str(error).strip().splitlines()
        warnings.warn(
            f"The GPU's {kernel} kernel failed ({type(error).__name__}"
            f"{': ' + lines[0][:200] if lines else ''}); headscope uses the slower plain path.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
