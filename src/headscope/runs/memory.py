"""How a long run keeps its memory flat: what stays lies apart from what comes and goes.

An allocator keeps what was freed for what comes next. Where an array that stays lies between two
that go, their room is too small for the next large one, and a run grows though it holds no more
than at its start. So what is kept throughout a step has pages of its own, and what is free between
steps goes back to the system.
"""

from __future__ import annotations

import ctypes
import gc
import math
import mmap
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def room(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array of zeros on pages of its own, which go back when it does."""
    kind, count = np.dtype(dtype), math.prod(shape)
    pages = mmap.mmap(-1, max(1, count * kind.itemsize))
    return np.frombuffer(pages, dtype=kind, count=count).reshape(shape)


def give_back() -> None:
    """Free pages go back to the system, where the allocator does not see to it by itself."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # musl has none
        return None


@contextmanager
def uncollected() -> Generator[None]:
    """Python looks for no garbage meanwhile: where thousands of lists are made and kept, it would
    go through everything it holds, again and again, and find none."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextmanager
def set_aside() -> Generator[None]:
    """What Python holds already is not looked through for garbage meanwhile, only what comes: with
    torch and transformers that is half a million objects, and a third of a second each time."""
    if gc.get_freeze_count():  # somebody else has done so, and may not want it undone
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
