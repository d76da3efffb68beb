"""Write src/protocol/types.generated.ts from the typed models in Python; --check: is it current?"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import types
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from headscope.capture import Kind
from headscope.surfaces.app import request
from headscope.views.shared import state
from headscope.views.wire import reading_schema, schema

TARGET = Path(__file__).parent / "src" / "protocol" / "types.generated.ts"
HEAD = (
    "/** Written by `make types` from the models in Python: change those, not this file. */\n"
    "/* eslint-disable max-lines */\n"
)
ALIASES = {
    "Kind": Kind,
    "Theme": state.Theme,
    "Filter": state.Filter,
    "Mask": reading_schema.Mask,
    "OffHead": request.OffHead,
}
PLAIN = {int: "number", float: "number", str: "string", bool: "boolean", type(None): "null"}


def structs(module: types.ModuleType) -> Iterator[type[msgspec.Struct]]:
    """Those that a module defines, in its order."""
    for found in vars(module).values():
        own = isinstance(found, type) and issubclass(found, msgspec.Struct)
        if own and found.__module__ == module.__name__ and found.__struct_fields__:
            yield found


def written(hint: Any, alias: bool = True) -> str:
    """A Python annotation as TypeScript writes it."""
    named = [name for name, meant in ALIASES.items() if meant == hint]
    if alias and named:
        return named[0]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        said = [one.extra["typescript"] for one in inner[1:] if one.extra]
        return said[0] if said else written(inner[0])
    if origin is Literal:
        return " | ".join(json.dumps(one) for one in inner)
    if origin in (Union, types.UnionType):
        return " | ".join(
            dict.fromkeys(written(one) for one in inner if one is not msgspec.UnsetType)
        )
    if origin is list or (origin is tuple and inner[-1] is ...):
        item = written(inner[0])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if origin is tuple:
        return f"[{', '.join(written(one) for one in inner)}]"
    if origin is dict:
        record = f"Record<{written(inner[0])}, {written(inner[1])}>"
        return f"Partial<{record}>" if inner[0] is not str else record
    return "unknown" if hint is Any else PLAIN.get(hint) or hint.__name__


def notes(struct: type[msgspec.Struct]) -> dict[str, str]:
    """The sentence under each field."""
    body = ast.parse(inspect.getsource(struct)).body[0].body  # pyright: ignore
    return {
        field.target.id: said.value.value
        for field, said in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(said, ast.Expr)
    }


def interface(struct: type[msgspec.Struct], whole: bool = False) -> str:
    """whole: every field is there, whatever its default."""
    base = struct.__base__ if struct.__base__ and struct.__base__.__struct_fields__ else None
    inherited = set(base.__struct_fields__) if base else set()
    hints, said = get_type_hints(struct, include_extras=True), notes(struct)
    doc = struct.__dict__.get("__doc__")
    lines = [f"/** {doc} */"] if doc else []
    lines.append(
        f"export interface {struct.__name__}{f' extends {base.__name__}' if base else ''} {{"
    )
    for field in msgspec.structs.fields(struct):
        if field.name in inherited:
            continue
        if field.name in said:
            lines.append(f"  /** {said[field.name]} */")
        mark = "" if whole or field.required else "?"
        lines.append(f"  {field.encode_name}{mark}: {written(hints[field.name])};")
    return "\n".join([*lines, "}"])


def constants() -> str:
    """The state's defaults, and what may be chosen."""
    fields = msgspec.structs.fields(state.State)
    made = msgspec.to_builtins(state.State())
    hints = get_type_hints(state.State)
    choices = {
        f.name: get_args(hints[f.name]) for f in fields if get_origin(hints[f.name]) is Literal
    }
    return "\n".join(
        [
            "export const defaults: State = {",
            *(f"  {name}: {json.dumps(value)}," for name, value in made.items()),
            "};\n",
            "export const choices: { [Key in keyof State]?: readonly State[Key][] } = {",
            *(f"  {name}: {json.dumps(allowed)}," for name, allowed in choices.items()),
            "};",
        ]
    )


def generated() -> str:
    aliases = [f"export type {name} = {written(hint, False)};" for name, hint in ALIASES.items()]
    models = [
        interface(one) for module in (reading_schema, schema, request) for one in structs(module)
    ]
    return (
        "\n\n".join(
            [HEAD + "\n".join(aliases), interface(state.State, whole=True), constants(), *models]
        )
        + "\n"
    )


if __name__ == "__main__":
    if "--check" not in sys.argv:
        TARGET.write_text(generated(), "utf-8")
    elif TARGET.read_text("utf-8") != generated():
        sys.exit(
            "web/src/protocol/types.generated.ts is not what the models say: run `make types`."
        )
