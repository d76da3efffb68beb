"""Bytes: as people write them, and as this machine has them."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.errors import BadInput

if TYPE_CHECKING:
    import torch

LARGE = 2**24  # weights of some queries from which on a GPU that is at hand makes them
FREE = 4 * 2**30  # bytes of its memory that must be free beside them
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?\s*", re.I)


def bytes_of(size: str | int | float) -> int:
    """2_000_000_000 of "2GB"; numbers are bytes already."""
    if isinstance(size, (int, float)) and not isinstance(size, bool) and 0 < size < math.inf:
        return int(size)
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if found is None or float(found[1]) <= 0:
        raise BadInput(f"A size is a number of bytes or a text such as '2GB', not {size!r}.")
    return int(float(found[1]) * _UNITS[found[2].lower()])


def spelled(count: float) -> str:
    """9.7 GB of 9_700_000_000."""
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{int(count)} bytes"


def available() -> int:
    """Memory that can be had now without pushing anything out."""
    try:
        with Path("/proc/meminfo").open() as lines:
            found = next(line for line in lines if line.startswith("MemAvailable"))
        return int(found.split()[1]) * 1024
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (ValueError, OSError, AttributeError):
        return 8 * 10**9


def available_on(device: torch.device | str | None = None) -> int:
    """Memory that torch can still give out on a GPU: what is free, and what it keeps unused."""
    import torch

    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


def gpu_at_hand(size: int = 0) -> bool:
    """Whether this process works on a GPU that has room for so many bytes and what goes with
    them."""
    import torch

    used = torch.cuda.is_available() and torch.cuda.is_initialized()
    return used and available_on() >= FREE + size


def device_for(weights: int) -> torch.device:
    """A GPU at hand, where so many weights are worth sending there."""
    import torch

    return torch.device("cuda" if weights >= LARGE and gpu_at_hand(4 * weights) else "cpu")


def limit(asked: str | int | None) -> int:
    """The bytes allowed: those asked for, else half of what is free."""
    return available() // 2 if asked is None else bytes_of(asked)
