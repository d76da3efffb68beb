"""The front end in the package: the script of all pages, scripts for some pages, and the app's."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from headscope.errors import HeadscopeError

PATH = Path(__file__).parent / "static" / "headscope.js"


@lru_cache
def bundle(*further: str) -> str:
    """The script, safe inside a script element, after the named further ones."""
    return "\n".join([*(further_script(name) for name in further), script(PATH)])


def further_script(name: str) -> str:
    """A further script, whose views the front end finds."""
    return script(PATH.with_name(f"{PATH.stem}-{name}.js"))


def app_script(name: str) -> str | None:
    """A module of the app by its name; None if there is none."""
    path = PATH.parent / "app" / name
    return script(path) if path.parent.is_dir() and name in _names(path.parent) else None


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def script(path: Path) -> str:
    """A file of the front end, safe inside a script element."""
    try:
        script = path.read_text("utf-8")
    except OSError as error:
        raise HeadscopeError(
            "The front end is not built; run 'make app' in the repository, or install the package."
        ) from error
    script = script.replace("\r\n", "\n")  # as parsers do, so that the hash matches
    return re.sub(r"</(?=script)|<(?=!--)", lambda found: found[0].replace("<", "\\x3c"), script)
