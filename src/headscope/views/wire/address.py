"""What is on screen, as the page writes it into an address, read back: numbers are parsed once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast, get_args

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.reading import Part, Reading
from headscope.views.state import check_heads, check_layer, check_token, checked, choices, free

_WHOLE = re.compile(r"[0-9]{1,9}")
_NUMBERS = ("layer", "head", "query", "key")
_LISTS = ("heads", "columns", "marked")
MOST_LISTED = 4096
LONGEST = 200  # characters of a free text


def state_of(query: Mapping[str, str], reading: Reading) -> dict[str, Any]:
    """The state a link or an export asks for, checked against the reading it is about."""
    state: dict[str, Any] = {}
    kind = query.get("kind") or reading.part().kind
    if kind not in get_args(Kind):
        raise BadInput(f"kind is one of {', '.join(get_args(Kind))}, not {kind[:LONGEST]!r}.")
    state["kind"] = kind
    state |= {name: whole(query[name], name) for name in _NUMBERS if query.get(name)}
    for name in _LISTS:
        if name in query:  # nothing may be what is on: an empty list is one
            state[name] = None if query[name] == "all" else _listed(query[name], name)
    own = {name: query[name] for name in (*choices(), *free()) if query.get(name)}
    state |= checked({name: _plain(value, name) for name, value in own.items() if name != "marked"})
    _check(reading.part(cast("Kind", kind)), state)
    return state


def whole(text: str, name: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise BadInput(f"{name} is a whole number of at most nine digits.")
    return int(text)


def _listed(text: str, name: str) -> list[int]:
    parts = text.split(".") if text else []
    if len(parts) > MOST_LISTED:
        raise BadInput(f"{name} lists at most {MOST_LISTED:,} numbers.")
    return [whole(part, name) for part in parts]


def _plain(text: str, name: str) -> Any:
    if len(text) > LONGEST:
        raise BadInput(f"{name} holds at most {LONGEST} characters.")
    kind = free().get(name)
    if kind is bool:
        return text == "true"
    if kind is list:
        return _listed(text, name)
    return text


def _check(part: Part, state: Mapping[str, Any]) -> None:
    check_layer(part, state.get("layer"))
    heads = [*(state.get("heads") or ()), *(state.get("columns") or ()), state.get("head")]
    check_heads(part.heads, *heads)
    check_token(len(part.query), state.get("query"), "query")
    check_token(len(part.key), state.get("key"), "key")
