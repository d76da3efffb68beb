"""The front end: one script, carried inside the package."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from headscope.errors import HeadscopeError

PATH = Path(__file__).parent / "static" / "headscope.js"


@lru_cache
def bundle() -> str:
    """The script, safe to stand inside a script element."""
    try:
        script = PATH.read_text("utf-8")
    except OSError as error:
        raise HeadscopeError(
            "The front end is not built; run 'make app' in the repository, or install the package."
        ) from error
    script = script.replace("\r\n", "\n")  # a parser would, and the hash below must hold
    return re.sub(r"</(?=script)|<(?=!--)", lambda found: found[0].replace("<", "\\x3c"), script)
