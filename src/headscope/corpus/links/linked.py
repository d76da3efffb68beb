"""A document with links between its spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from headscope.corpus.bad_data import Faults, unreadable
from headscope.corpus.sources import texts
from headscope.json_text import parse_json

Span = tuple[int, int]  # characters, from and up to
Seconds = tuple[float, float]


@dataclass(frozen=True)
class Pair:
    """One labelled link."""

    query: Span
    target: Span | Seconds
    sure: bool = True  # a possible link is right but not required


@dataclass(frozen=True)
class Linked:
    """A text, or two, or a sound and its transcript, with the links between their units.

    Targets lie in `text` (or in seconds of `sound`). Queries lie in `other` if there is one (a
    second sentence, or what a decoder reads), else in `text` too.
    """

    text: str
    pairs: tuple[Pair, ...]
    other: str | None = None
    queries: tuple[Span, ...] = ()  # all query units; else those of the pairs
    candidates: tuple[Span, ...] = ()  # all candidate keys; else every token
    groups: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # of queries, of candidates
    sound: str | None = None  # a file; `text` is empty then
    where: str = ""

    @property
    def asking(self) -> str:
        """The text that queries lie in."""
        return self.text if self.other is None else self.other


def read_jsonl(path: str | Path, faults: Faults) -> Iterator[Linked]:
    """Documents with links by character: {"text": …, "pairs": [[[0, 3], [8, 12]], …]}."""
    for name, lines in texts(path, (".jsonl",)):
        for number, line in enumerate(lines, 1):
            where = f"{name}:{number}"
            if not line.strip():
                continue
            try:
                row: Any = parse_json(line)
            except ValueError as error:
                faults.note("malformed line", where, f"this is not JSON ({str(error)[:80]})")
                continue
            if not isinstance(row, dict):
                faults.note("malformed line", where, "a line is an object with 'text' and 'pairs'")
                continue
            found = of_fields(cast(dict[str, Any], row), where, faults)
            if found is not None:
                yield found


def of_fields(row: Mapping[str, Any], where: str, faults: Faults) -> Linked | None:
    """A document from `text`, `pairs` and, if given, `other` and `candidates`.

    A pair is [[start, end], [start, end]], the query first. Bad pairs are counted one by one.
    """
    text, other = row.get("text"), row.get("other")
    if not isinstance(text, str) or not isinstance(other, str | None):
        faults.note("malformed line", where, "a document needs 'text', and 'other' as text or null")
        return None
    if unreadable(text) or unreadable(other or ""):
        faults.note("not UTF-8", where, "the text holds bytes that are not UTF-8")
        return None
    given = row.get("pairs")
    if not isinstance(given, list) or not given:
        faults.note("malformed line", where, "a document needs 'pairs': [[[0, 3], [8, 12]], …]")
        return None
    asking = text if other is None else other
    found: list[Pair] = []
    for pair in cast(list[Any], given):
        if not isinstance(pair, list | tuple) or len(cast(Sequence[Any], pair)) != 2:
            faults.note("malformed pair", where, f"{pair!r} is not [[start, end], [start, end]]")
            continue
        query = span_in(pair[0], asking, where, faults)
        target = span_in(pair[1], text, where, faults)
        if query is not None and target is not None:
            found.append(Pair(query, target))
    listed = row.get("candidates", [])
    units = [span_in(one, text, where, faults) for one in listed] if _is_list(listed) else [None]
    if not _is_list(listed):
        faults.note("malformed line", where, "'candidates' is a list of [start, end]")
        return None
    if not found:
        return None  # its bad pairs were counted already
    candidates = tuple(one for one in units if one is not None)
    return Linked(text, tuple(found), other, candidates=candidates, where=where)


def span_in(given: Any, text: str, where: str, faults: Faults) -> Span | None:
    """A span within the text that is not blank; a bad one is counted."""
    pair = cast(Sequence[Any], given) if _is_list(given) else ()
    if len(pair) != 2 or not all(type(end) is int for end in pair):
        faults.note("malformed pair", where, f"{given!r} is not [start, end] in characters")
        return None
    start, end = int(pair[0]), int(pair[1])
    if end <= start:
        faults.note("end before start", where, f"[{start}, {end}] ends before it starts")
        return None
    if start < 0 or end > len(text):
        message = f"[{start}, {end}] lies outside a text of {len(text)} characters"
        faults.note("span outside", where, message)
        return None
    if not text[start:end].strip():
        faults.note("empty span", where, f"[{start}, {end}] covers only blanks")
        return None
    return start, end


def word_spans(words: Iterable[str]) -> tuple[str, tuple[Span, ...]]:
    """Words joined by blanks, and where each lies."""
    spans: list[Span] = []
    at = 0
    listed = list(words)
    for word in listed:
        spans.append((at, at + len(word)))
        at += len(word) + 1
    return " ".join(listed), tuple(spans)


def _is_list(given: object) -> bool:
    return isinstance(given, list | tuple)
