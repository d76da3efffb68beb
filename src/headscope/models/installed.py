"""The transformers library that is here; older ones give other numbers or none, so say so."""

from __future__ import annotations

import functools
import importlib.metadata
import re

from headscope.errors import HeadscopeError

LEAST = (5, 10)


@functools.cache
def check_transformers() -> None:
    version = importlib.metadata.version("transformers")
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if found < LEAST:
        raise HeadscopeError(
            f"headscope reads models through transformers {LEAST[0]}.{LEAST[1]} or newer, and "
            f"{version} is installed; run: pip install --upgrade transformers"
        )
