"""The state on screen, with the page's names; invalid values raise an error.

`State` is the one description: the page's type, defaults and choices are generated from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from headscope.arguments import need_number
from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.reading import Part, Reading
from headscope.views.shared.discovery import ViewModule, discover

Theme = Literal["auto", "light", "dark"]
Filter = Literal["all", "aa", "ab", "ba", "bb"]
Whole = Annotated[int, msgspec.Meta(ge=0, lt=10**9)]
Wholes = Annotated[list[Whole], msgspec.Meta(max_length=4096)]
Words = Annotated[str, msgspec.Meta(max_length=200)]


class State(msgspec.Struct, kw_only=True):
    """Everything on screen that a link can hold. Tokens are numbered as in Tokens."""

    view: Words = "head"
    kind: Kind = "encoder"
    layer: Whole = 0
    heads: Wholes | None = None
    """Heads switched on in the head view; null = all of them."""
    columns: Wholes | None = None
    """Model view: the heads it was made for; null = all of them."""
    head: Whole = 0
    """The selected head: neuron and matrix view, the app's panel."""
    query: Whole | None = None
    """Pinned query token, or null."""
    key: Whole | None = None
    """Pinned key token, or null."""
    filter: Filter = "all"
    specials: Literal["shown", "hidden", "renormalised"] = "shown"
    first: Literal["shown", "hidden"] = "shown"
    """The first token as a key: many heads of a decoder rest on it."""
    unit: Literal["tokens", "words"] = "tokens"
    minimum: float = 0
    """Lines below this weight are left out."""
    scale: Literal["linear", "sqrt"] = "linear"
    orientation: Literal["vertical", "horizontal"] = "vertical"
    direction: Literal["auto", "ltr", "rtl"] = "auto"
    theme: Theme = "auto"
    thumbnails: Literal["maps", "lines"] = "maps"
    """Model view: what a thumbnail shows."""
    order: Literal["number", "label"] = "number"
    """Model view and chips: heads by number, or strongest label first."""
    find: Words = ""
    """Model view: only heads whose label contains this."""
    sort: Literal["number", "contribution"] = "number"
    """Neuron view."""
    wrap: bool = False
    marked: Wholes = []
    """Neurons of an explanation, to be marked."""
    column: Words = ""
    """Head map: name of the column in use ("" = first)."""
    reading: Literal["this", "other", "difference"] = "this"
    """Matrix view: which of two readings."""
    weighting: Literal["weight", "norm", "logit"] = "weight"
    """What is drawn: α, ‖α v W‖, or the size of its part along an answer's logit."""


# these depend on a reading and are arguments of every view; the rest are options
SELECTION = ("view", "kind", "layer", "heads", "columns", "head", "query", "key", "chosen")


def open_heads(part: Part, layer: int, heads: Sequence[int]) -> dict[str, Any]:
    """Some heads of one layer; the panel's numbers are the first one's."""
    return {
        "kind": part.kind,
        "layer": layer,
        "heads": heads,
        "head": heads[0] if heads else 0,
    }


_TYPES: Mapping[type, Any] = {str: Words, list: Wholes}  # of a view's own options


def options_of(*views: ViewModule) -> dict[str, Any]:
    """The type of every option: those of all views, and those of these views."""
    known = get_type_hints(State, include_extras=True)
    shared = {name: known[name] for name in known if name not in (*SELECTION, "weighting")}
    own = [one for view in views for one in getattr(view, "OPTIONS", {}).items()]
    return shared | {
        name: Literal[allowed] if isinstance(allowed, tuple) else _TYPES[allowed]
        for name, allowed in own
    }


def checked(given: Mapping[str, Any], view: str | None = None) -> dict[str, Any]:
    """The valid options of the screen; the first invalid one raises an error.

    With a view's name, only the options of that view count.
    """
    views = discover()
    known = options_of(*(views.values() if view is None else [views[view]]))
    for name in given:
        if name not in known:
            listed = ", ".join(sorted(known.keys() - {*SELECTION, "reading"}))
            which = "A view" if view is None else f"The {view} view"
            raise BadInput(f"{which} has no option {name!r}; the options are {listed}.")
    return {name: _converted(name, value, known[name]) for name, value in given.items()}


def state_of(address: Mapping[str, str], reading: Reading) -> dict[str, Any]:
    """The state from a link or an export, checked against its reading."""
    known = {**get_type_hints(State, include_extras=True), **options_of(*discover().values())}
    state: dict[str, Any] = {"kind": reading.part().kind}
    for name, text in address.items():
        lists = _takes(known.get(name), Wholes)
        if name not in known or name == "view" or not (text or lists):
            continue  # no heads may be on: an empty list is valid
        value: Any = text
        if lists:
            value = None if text == "all" else text.split(".") if text else []
        state[name] = _converted(name, value, known[name], strict=False)
    part = reading.part(state["kind"])
    check_layer(part, state.get("layer"))
    heads = [*(state.get("heads") or ()), *(state.get("columns") or ()), state.get("head")]
    check_heads(part.heads, *heads)
    check_token(len(part.query), state.get("query"), "query")
    check_token(len(part.key), state.get("key"), "key")
    return state


def _converted(name: str, value: Any, kind: Any, *, strict: bool = True) -> Any:
    plain = value.tolist() if hasattr(value, "tolist") else value  # numpy's numbers and arrays
    try:
        found = msgspec.convert(plain, kind, strict=strict)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise BadInput(f"{name} is {_said(kind)}, not {str(value)[:80]!r}.") from error
    if isinstance(found, float) and not isfinite(found):
        raise BadInput(f"{name} is a number, not {value!r}.")
    return found


def _takes(kind: Any, what: Any) -> bool:
    """Whether a type is this one, or this one or None."""
    return what in (kind, *get_args(kind))


def _said(kind: Any) -> str:
    """An option's values, in words."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if _takes(kind, Wholes):
        return "a list of at most 4,096 whole numbers"
    if _takes(kind, Whole):
        return "a whole number"
    return {float: "a number", bool: "true or false"}.get(kind, "a text of at most 200 characters")


def check_layer(part: Part, layer: int | None) -> None:
    if layer is not None and layer not in part.numbers:
        raise BadInput(f"There is no layer {layer} in this reading; it has {_span(part.numbers)}.")


def several(heads: Any) -> list[int] | None:
    """The requested heads; a single one may be a number."""
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
            raise BadInput(f"There is no head {head}; each layer has heads 0 to {heads - 1}.")


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
