"""What the page asks for, checked field by field before anything is done with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.surfaces.app.media import MediaInput, media_input
from headscope.surfaces.app.readings import OffHead

MOST_CHARACTERS = 200_000
KINDS = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class ReadRequest:
    model: str
    text: str
    text_pair: str | None
    off: tuple[OffHead, ...]
    layer: int | None
    truncate: bool = False
    writing: str | None = None  # a text the model wrote, by its id
    media: MediaInput | None = None  # a picture or a sound, in place of a text or beside it
    ticket: str | None = None  # by which the page asks for its place in the queue


@dataclass(frozen=True)
class WriteRequest:
    """Begin a text, or go on with the one of that id."""

    count: int
    writing: str | None = None
    model: str = ""
    text: str = ""
    off: tuple[OffHead, ...] = ()


def fields(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput("The request is not JSON.") from error
    if not isinstance(found, dict):
        raise BadInput("The request is not a JSON object.")
    return cast("dict[str, Any]", found)


def read_request(body: bytes) -> ReadRequest:
    found = fields(body)
    pair = found.get("text_pair")
    return ReadRequest(
        model=_text(found, "model"),
        text=_text(found, "text"),
        text_pair=None if pair in (None, "") else _text(found, "text_pair"),
        off=off_heads(found),
        layer=None if found.get("layer") is None else _number(found["layer"], "layer"),
        truncate=found.get("truncate") is True,
        writing=None if found.get("writing") is None else _text(found, "writing"),
        ticket=None if found.get("ticket") is None else ticket(found),
    )


def media_request(body: bytes) -> ReadRequest:
    """A picture or a sound to read; the text about it may be empty."""
    found = fields(body)
    text = _text(found, "text")
    return ReadRequest(
        model=_text(found, "model"),
        text=text,
        text_pair=None,
        off=off_heads(found),
        layer=None if found.get("layer") is None else _number(found["layer"], "layer"),
        ticket=None if found.get("ticket") is None else ticket(found),
        media=media_input(found, text),
    )


def ticket(found: Mapping[str, Any]) -> str:
    name = _text(found, "ticket")
    if not 8 <= len(name) <= 64:
        raise BadInput("A ticket is a text of 8 to 64 characters.")
    return name


def write_request(body: bytes) -> WriteRequest:
    found = fields(body)
    count = _number(found.get("count"), "count")
    if found.get("writing") is not None:
        return WriteRequest(count, _text(found, "writing"))
    return WriteRequest(count, None, _text(found, "model"), _text(found, "text"), off_heads(found))


def reading_id(found: Mapping[str, Any], name: str = "id") -> str:
    return _text(found, name)


def off_heads(found: Mapping[str, Any]) -> tuple[OffHead, ...]:
    heads = found.get("off") or []
    if not isinstance(heads, list) or len(cast("list[Any]", heads)) > 4096:
        raise BadInput("'off' is a list of [kind, layer, head].")
    return tuple(_off_head(head) for head in cast("list[Any]", heads))


def place_in_reading(found: Mapping[str, Any]) -> tuple[Kind, tuple[int, int], int]:
    """A query of a reading as a head sees it."""
    kind = found.get("kind")
    if kind not in KINDS:
        raise BadInput(f"'kind' is one of {', '.join(KINDS)}.")
    layer, head, query = (_number(found.get(name), name) for name in ("layer", "head", "query"))
    return kind, (layer, head), query


def _off_head(head: Any) -> OffHead:
    if not isinstance(head, list) or len(cast("list[Any]", head)) != 3 or head[0] not in KINDS:
        raise BadInput("'off' is a list of [kind, layer, head].")
    return head[0], _number(head[1], "layer"), _number(head[2], "head")


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str):
        raise BadInput(f"The request needs a text called {name!r}.")
    if len(value) > MOST_CHARACTERS:
        raise BadInput(
            f"The app reads texts of up to {MOST_CHARACTERS:,} characters; this one has "
            f"{len(value):,}. Use headscope view for longer ones."
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{name!r} holds half of a surrogate pair, which is no character."
        ) from error
    return value


def _number(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**9:
        raise BadInput(f"{name} is a whole number.")
    return value
