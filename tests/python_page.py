"""The page of public names: `python -m tests.python_page > docs/reference/python.md`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import headscope as hs

PACKAGES = ("circuits", "emphasis", "monitor", "probe", "results", "studies")


def page() -> str:
    """A line a name; the site puts signatures and arguments in place of the marker."""
    rows = [f"| `{name}` | {_summary(thing)} |" for name, thing in _named()]
    return "\n".join(
        [
            "# Python",
            "",
            "Every public name of `import headscope as hs`. Heavy libraries load on first use.",
            "Made by `python -m tests.python_page > docs/reference/python.md`;",
            "`help(hs.survey)` and the site (`make docs`) have every argument.",
            "",
            "| name | what it is |",
            "|---|---|",
            *rows,
            "",
            "<!-- public names -->",
            "",
        ]
    )


def _named() -> Iterator[tuple[str, Any]]:
    for name in sorted(set(hs.__all__) - {"__version__"}, key=lambda name: (name.lower(), name)):
        thing = getattr(hs, name)
        yield f"hs.{name}", thing
        if name in PACKAGES:
            for inner in sorted(_offered(thing), key=lambda name: (name.lower(), name)):
                yield f"hs.{name}.{inner}", getattr(thing, inner)


def _offered(package: Any) -> list[str]:
    if hasattr(package, "__all__"):
        return list(package.__all__)
    own = [name for name, found in vars(package).items() if inspect.isfunction(found)]
    return [name for name in own if not name.startswith("_")]


def _summary(thing: Any) -> str:
    """The first sentence of what it says of itself."""
    first = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return re.sub(r"\s+", " ", first).replace("|", "\\|").strip()


if __name__ == "__main__":
    print(page(), end="")
