"""The views' part of src/headscope/__init__.pyi, made from their files:
`python -m tests.front_door_stub`."""

from __future__ import annotations

import inspect
from pathlib import Path

from headscope.front_door import view_functions
from headscope.surfaces.functions import public_signature
from headscope.views import discover

STUB = Path(__file__).parents[1] / "src" / "headscope" / "__init__.pyi"
MARK = "# the views: python -m tests.front_door_stub\n"


def views() -> str:
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
        _declared(name, [one for one in each if one not in common]) for name, each in taken.items()
    )
    return f"class _Shared(TypedDict, total=False):\n{options}\n\n{functions}"


def _declared(name: str, own: list[inspect.Parameter]) -> str:
    lines = [f"def {view_functions()[name]}("]
    starred = False
    for each in own:
        if each.kind is each.KEYWORD_ONLY and not starred:
            lines.append("    *,")
            starred = True
        default = "" if each.default is inspect.Parameter.empty else f" = {_written(each.default)}"
        lines.append(f"    {each.name}: {each.annotation}{default},")
    shows = f"{discover()[name].SHOWS[0].upper()}{discover()[name].SHOWS[1:]}."
    shared = "    **shared: Unpack[_Shared],"
    return "\n".join([*lines, f'{shared}\n) -> View:\n    """{shows}"""', ""])


def _written(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def stub() -> str:
    """The stub with its views as they should be."""
    return STUB.read_text("utf-8").partition(MARK)[0] + MARK + views()


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
