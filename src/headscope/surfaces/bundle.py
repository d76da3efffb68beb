"""The front end: one script, and scripts with views that only some pages need, in the package."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from headscope.errors import HeadscopeError

PATH = Path(__file__).parent / "static" / "headscope.js"


@lru_cache
def bundle(*further: str) -> str:
    """The script, safe to stand inside a script element; the further ones by name before it."""
    return "\n".join([*(further_script(name) for name in further), _script(PATH)])


def further_script(name: str) -> str:
    """A script of views that leaves them for the front end to find."""
    return _script(PATH.with_name(f"{PATH.stem}-{name}.js"))


def _script(path: Path) -> str:
    try:
        script = path.read_text("utf-8")
    except OSError as error:
        raise HeadscopeError(
            "The front end is not built; run 'make app' in the repository, or install the package."
        ) from error
    script = script.replace("\r\n", "\n")  # a parser would, and the hash of a page must hold
    return re.sub(r"</(?=script)|<(?=!--)", lambda found: found[0].replace("<", "\\x3c"), script)
