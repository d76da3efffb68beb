"""What the stubs declare of views and studies, made from their files:
`python -m tests.front_door_stub`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headscope import studies
from headscope.front_door import view_functions
from headscope.surfaces.functions import public_signature
from headscope.views import discover

FOLDER = Path(__file__).parents[1] / "src" / "headscope"
MARK = "# below: python -m tests.front_door_stub\n"


def of_views() -> str:
    """A declaration of every view's function; what all of them take is declared once."""
    taken = {
        name: public_signature(module).parameters.values()
        for name, module in discover().items()
        if name in view_functions()
    }
    common = [
        one for one in next(iter(taken.values())) if all(one in each for each in taken.values())
    ]
    options = "\n".join(f"    {one.name}: {one.annotation}" for one in common)
    functions = "\n".join(
        _view(name, [one for one in each if one not in common]) for name, each in taken.items()
    )
    return f"class _Shared(TypedDict, total=False):\n{options}\n\n{functions}"


def of_studies() -> str:
    """A declaration of every study's function."""
    return "\n".join(_study(name, getattr(studies, name)) for name in studies.STUDIES)


def _view(name: str, own: list[inspect.Parameter]) -> str:
    shows = f"{discover()[name].SHOWS[0].upper()}{discover()[name].SHOWS[1:]}."
    return _declared(view_functions()[name], own, "View", shows, "    **shared: Unpack[_Shared],")


def _study(name: str, function: Any) -> str:
    summary = inspect.getdoc(function).partition("\n\n")[0]
    return _declared(name, inspect.signature(function).parameters.values(), "Report", summary)


def _declared(
    name: str, own: Iterable[inspect.Parameter], returns: str, summary: str, *last: str
) -> str:
    lines = [f"def {name}("]
    starred = False
    for each in own:
        if each.kind is each.KEYWORD_ONLY and not starred:
            lines.append("    *,")
            starred = True
        default = "" if each.default is inspect.Parameter.empty else f" = {_written(each.default)}"
        lines.append(f"    {each.name}: {each.annotation}{default},")
    return "\n".join([*lines, *last, f') -> {returns}:\n    """{summary}"""', ""])


def _written(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


STUBS = {FOLDER / "__init__.pyi": of_views, FOLDER / "studies" / "__init__.pyi": of_studies}


def stub(path: Path) -> str:
    """A stub with its declarations as they should be."""
    return path.read_text("utf-8").partition(MARK)[0] + MARK + STUBS[path]()


if __name__ == "__main__":
    for one in STUBS:
        one.write_text(stub(one), "utf-8")
