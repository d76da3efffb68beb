"""Kernels compiled ahead, each in a thread of its own, while a model is tried and text is prepared.

The first use of a kernel on a machine takes seconds: Triton's library is read, a piece of C that
speaks to the driver is compiled, then the kernel and what launches it. Later uses find all of that
on the disk. Nothing rests on it: what is not compiled here is compiled when it is used, and what
fails here fails there, where it is said.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch

Kernel = Literal["one pass", "whole rows", "pairs of heads"]

_compiling: dict[Kernel, threading.Event] = {}


def ahead(kernel: Kernel, device: torch.device, works: Sequence[Callable[[], Any]]) -> None:
    """Have a kernel compiled, first as it is most likely needed; each of `works` gives what
    Triton's `warmup` does."""
    first = threading.Event()

    def compiled() -> None:
        try:
            with contextlib.suppress(Exception), torch.cuda.device(device):
                _awake()
                for work in works:
                    # what launches it is compiled, too, and both are brought to the device
                    getattr(work(), "_init_handles", _nothing)()
                    first.set()
        finally:
            first.set()

    _compiling[kernel] = first
    # no daemon: a process must not end in the middle of a compiler
    threading.Thread(target=compiled, name=f"compiling {kernel}").start()


def settled(kernel: Kernel) -> None:
    """Wait until a kernel is compiled as it is most likely needed, if that was begun."""
    first = _compiling.pop(kernel, None)
    if first is not None:
        first.wait()


def wake(device: str | None) -> None:
    """Start Triton while a model is loaded to a GPU of that name, before its kernels are known."""

    def woken() -> None:
        with contextlib.suppress(Exception):
            _awake()

    if device is not None and device.startswith("cuda"):
        threading.Thread(target=woken, name="starting Triton").start()


_waking = threading.Lock()


def _awake() -> None:
    """Triton's own first use: two parts that need not wait for one another."""
    from triton.runtime import cache, driver

    with _waking:
        # reads through Triton's library, which takes a while, and remembers what it found
        hashing = threading.Thread(target=getattr(cache, "triton_key", _nothing))
        hashing.start()
        driver.active.get_current_target()
        hashing.join()


def _nothing() -> None:
    return None
