"""The table in docs/how-to/views.md, made from the views' files: `python -m tests.views_page`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from headscope.front_door import view_functions
from headscope.views import discover

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "views.md"
_TABLE = re.compile(r"\| view \| call \| shows \|\n\|---\|---\|---\|\n(?:\|.*\n)+")


def rows() -> list[str]:
    """One a view: its name, how it is called, what it shows."""
    return [_row(name) for name in discover()]


def _row(name: str) -> str:
    view = discover()[name]
    taken = [
        each.name
        for each in inspect.signature(view.build).parameters.values()
        if each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    return f"| {name} | `hs.{view_functions()[name]}({', '.join(taken)})` | {view.SHOWS} |"


def page() -> str:
    """The page with its table as it should be."""
    head = ["| view | call | shows |", "|---|---|---|"]
    table = "\n".join([*head, *rows()]) + "\n"
    return _TABLE.sub(lambda _: table, PAGE.read_text("utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
