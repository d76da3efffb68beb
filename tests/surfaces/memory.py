"""How much memory a piece of work takes at its worst, whatever ran before it in the process."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

OWN = Path("/proc/self")
RESET = "5"  # the highest mark of resident memory starts again


def _bytes(name: str) -> int:
    lines = (OWN / "status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


@contextlib.contextmanager
def measured() -> Generator[Callable[[], int]]:
    """Yields a function: the most bytes that the process has had since here, beyond what it had."""
    gc.collect()
    try:
        (OWN / "clear_refs").write_text(RESET)
    except OSError:
        pytest.skip("the system does not reset the highest mark of a process")
    before = _bytes("VmRSS")
    yield lambda: max(0, _bytes("VmHWM") - before)
