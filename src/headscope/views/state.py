"""What is on screen, with the names the page uses; checked here so that misuse gets a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, cast

import numpy as np

from headscope.arguments import need_number
from headscope.errors import BadInput
from headscope.reading import Part
from headscope.views.discovery import discover

CHOICES: Mapping[str, tuple[str, ...]] = {
    "filter": ("all", "aa", "ab", "ba", "bb"),
    "specials": ("shown", "hidden", "renormalised"),
    "unit": ("tokens", "words"),
    "scale": ("linear", "sqrt"),
    "layout": ("vertical", "horizontal"),
    "direction": ("auto", "ltr", "rtl"),
    "theme": ("auto", "light", "dark"),
    "thumbnails": ("maps", "lines"),
    "order": ("number", "label"),
    "sort": ("number", "contribution"),
    "reading": ("this", "other", "difference"),
    "first": ("shown", "hidden"),
}
FREE: Mapping[str, type] = {
    "minimum": float,
    "find": str,
    "wrap": bool,
    "marked": list,
    "column": str,
}


def open_heads(part: Part, layer: int, heads: Sequence[int]) -> dict[str, Any]:
    """Some heads of one layer; the first is the one that the numbers speak of."""
    return {
        "kind": part.kind,
        "layer": layer,
        "heads": heads,
        "head": heads[0] if heads else 0,
    }


def choices() -> dict[str, tuple[str, ...]]:
    """What may be chosen, with the options that only one view has."""
    return {**CHOICES, **{name: allowed for name, allowed in _own() if isinstance(allowed, tuple)}}


def free() -> dict[str, type]:
    return {**FREE, **{name: kind for name, kind in _own() if isinstance(kind, type)}}


def _own() -> list[tuple[str, Any]]:
    return [one for view in discover().values() for one in getattr(view, "OPTIONS", {}).items()]


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that describe the screen, or a sentence about the first that does not."""
    state: dict[str, Any] = {}
    allowed, kinds = choices(), free()
    for name, value in options.items():
        if name in allowed:
            if value not in allowed[name]:
                raise BadInput(f"{name} is one of {', '.join(allowed[name])}, not {value!r}.")
        elif name in kinds:
            value = _as(kinds[name], name, value)
        else:
            known = ", ".join(sorted({*allowed, *kinds}))
            raise BadInput(f"A view has no option {name!r}; the options are {known}.")
        state[name] = value
    return state


_SAID = {float: "a number", int: "a whole number", str: "a text", bool: "yes or no", list: "a list"}


def _as(kind: type, name: str, value: Any) -> Any:
    try:
        found = kind(value)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name} is {_SAID.get(kind, kind.__name__)}, not {value!r}.") from error
    if isinstance(found, float) and not isfinite(found):
        raise BadInput(f"{name} is a number, not {value!r}.")
    return found


def check_layer(part: Part, layer: int | None) -> None:
    if layer is not None and layer not in part.numbers:
        raise BadInput(f"There is no layer {layer} in this reading; it has {_span(part.numbers)}.")


def several(heads: Any) -> list[int] | None:
    """The heads asked for; one alone may be given as a number."""
    if heads is None:
        return None
    found: Any = [heads] if isinstance(heads, int) else heads
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise BadInput(f"heads is a list of numbers such as [0, 3], not {heads!r}.")
    listed = cast("list[Any]", list(found))
    if not all(isinstance(head, int | np.integer) for head in listed):
        raise BadInput(f"heads is a list of numbers such as [0, 3], not {heads!r}.")
    return [int(head) for head in listed]


def check_heads(heads: int, *wanted: int | None) -> None:
    for head in wanted:
        if head is not None:
            need_number(head, "A head")
        if head is not None and not 0 <= head < heads:
            raise BadInput(f"There is no head {head}; the heads are 0 to {heads - 1}.")


def check_token(count: int, token: int | None, side: str) -> None:
    if token is not None:
        need_number(token, f"A {side} token")
    if token is not None and not 0 <= token < count:
        raise BadInput(f"There is no {side} token {token}; the tokens are 0 to {count - 1}.")


def _span(layers: tuple[int, ...]) -> str:
    first, last = min(layers), max(layers)
    if len(layers) > 2 and layers == tuple(range(first, last + 1)):
        return f"layers {first} to {last}"
    return ("layers " if len(layers) > 1 else "layer ") + ", ".join(map(str, layers))
