"""What is on screen, with the names the page uses; checked here so that misuse gets a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headscope.errors import BadInput
from headscope.reading import Part

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
}
FREE: Mapping[str, type] = {
    "minimum": float,
    "find": str,
    "wrap": bool,
    "marked": list,
    "column": str,
}


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that describe the screen, or a sentence about the first that does not."""
    state: dict[str, Any] = {}
    for name, value in options.items():
        if name in CHOICES:
            if value not in CHOICES[name]:
                raise BadInput(f"{name} is one of {', '.join(CHOICES[name])}, not {value!r}.")
        elif name in FREE:
            value = FREE[name](value)
        else:
            known = ", ".join(sorted({*CHOICES, *FREE}))
            raise BadInput(f"A view has no option {name!r}; the options are {known}.")
        state[name] = value
    return state


def check_layer(part: Part, layer: int | None) -> None:
    if layer is not None and layer not in part.numbers:
        raise BadInput(f"There is no layer {layer} in this reading; it has {_span(part.numbers)}.")


def check_heads(heads: int, *wanted: int | None) -> None:
    for head in wanted:
        if head is not None and not 0 <= head < heads:
            raise BadInput(f"There is no head {head}; the heads are 0 to {heads - 1}.")


def check_token(count: int, token: int | None, side: str) -> None:
    if token is not None and not 0 <= token < count:
        raise BadInput(f"There is no {side} token {token}; the tokens are 0 to {count - 1}.")


def _span(layers: tuple[int, ...]) -> str:
    first, last = min(layers), max(layers)
    if len(layers) > 2 and layers == tuple(range(first, last + 1)):
        return f"layers {first} to {last}"
    return ("layers " if len(layers) > 1 else "layer ") + ", ".join(map(str, layers))
