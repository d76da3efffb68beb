"""Relations between two spans of a text, given by characters: a target and its elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from headscope.corpus.bad_data import Faults, unreadable
from headscope.corpus.sources import texts
from headscope.json_text import parse_json

Span = tuple[int, int]


@dataclass(frozen=True)
class Relation:
    """A text in which elements belong to a target, such as a frame's words to its evoking word."""

    text: str
    target: Span
    elements: tuple[Span, ...]
    labels: tuple[str, ...]  # one per element
    name: str  # the relation or frame
    where: str  # file:line


def read_jsonl(path: str | Path, faults: Faults) -> Iterator[Relation]:
    """One relation a line: `text`, `target` [start, end], `core_elements` or `elements`.

    An element is [start, end] or [start, end, label]; offsets count characters from 0.
    """
    for name, lines in texts(path, (".jsonl",)):
        for number, line in enumerate(lines, 1):
            if line.strip():
                relation = _parse(line, f"{name}:{number}", faults)
                if relation is not None:
                    yield relation


def _parse(line: str, where: str, faults: Faults) -> Relation | None:
    try:
        row: Any = parse_json(line)
    except ValueError as error:  # also endless numbers and nesting
        faults.note("malformed line", where, f"this is not JSON ({str(error)[:80]})")
        return None
    if not isinstance(row, dict) or not isinstance(cast(Any, row).get("text"), str):
        faults.note("malformed line", where, "a relation needs a 'text'")
        return None
    fields = cast(dict[str, Any], row)
    text = cast(str, fields["text"])
    if unreadable(text):
        faults.note("not UTF-8", where, "the text holds bytes that are not UTF-8")
        return None
    target = _span(fields.get("target"), text)
    listed = fields.get("core_elements", fields.get("elements"))
    if not isinstance(listed, list) or not listed:
        faults.note("malformed line", where, "a relation needs 'elements' or 'core_elements'")
        return None
    elements = [_span(item, text) for item in cast(list[Any], listed)]
    for given, span in [
        (fields.get("target"), target),
        *zip(cast(list[Any], listed), elements, strict=True),
    ]:
        if span is None:
            message = f"{given!r} is no span of a text of {len(text)} characters"
            faults.note("span outside", where, message)
            return None
    return Relation(
        text=text,
        target=cast(Span, target),
        elements=tuple(cast(list[Span], elements)),
        labels=tuple(str(e[2]) if len(e) > 2 else "" for e in cast(list[list[Any]], listed)),
        name=str(fields.get("frame", fields.get("relation", ""))),
        where=where,
    )


def _span(given: Any, text: str) -> Span | None:
    """A span within the text that is not blank."""
    if not isinstance(given, list) or len(cast(list[Any], given)) < 2:
        return None
    start, end = cast(list[Any], given)[:2]
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    if not 0 <= start < end <= len(text) or not text[start:end].strip():
        return None
    return start, end
