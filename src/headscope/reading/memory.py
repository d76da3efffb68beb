"""Sizes in bytes: parsing, printing, and free memory."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.errors import BadInput

if TYPE_CHECKING:
    import torch

LARGE = 2**24  # so many weights are computed on a GPU, if one is in use
FREE = 4 * 2**30  # bytes of its memory that must be free beside them
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?\s*", re.I)


def bytes_of(size: str | int | float) -> int:
    """Parse "2GB" to 2_000_000_000; numbers are bytes already."""
    if isinstance(size, (int, float)) and not isinstance(size, bool) and 0 < size < math.inf:
        return int(size)
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if found is None or float(found[1]) <= 0:
        raise BadInput(f"A size is a number of bytes or a text such as '2GB', not {size!r}.")
    return int(float(found[1]) * _UNITS[found[2].lower()])


def spelled(count: float) -> str:
    """Spell 9_700_000_000 as 9.7 GB."""
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{int(count)} bytes"


def available() -> int:
    """Free memory, without swapping."""
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
    """Memory that torch can still allocate on a GPU: free memory and its own unused cache."""
    import torch

    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


def gpu_at_hand(size: int = 0) -> bool:
    """Whether this process uses a GPU with enough free memory for so many bytes."""
    import torch

    used = torch.cuda.is_available() and torch.cuda.is_initialized()
    return used and available_on() >= FREE + size


def device_for(weights: int) -> torch.device:
    """The GPU in use, if there are enough weights to compute."""
    import torch

    return torch.device("cuda" if weights >= LARGE and gpu_at_hand(4 * weights) else "cpu")


def limit(asked: str | int | None) -> int:
    """The bytes allowed: the requested number, else half of what is free."""
    return available() // 2 if asked is None else bytes_of(asked)
