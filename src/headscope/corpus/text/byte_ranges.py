"""Byte ranges: a large text file in parts that begin where documents begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headscope.corpus.text import wikitext
from headscope.corpus.text.documents import Layout

LEAST, MOST = 2**20, 2**26  # bytes of a part
PARTS = 2_048  # of a file, about


def part_of(size: int) -> int:
    """Bytes of a part of a file, about; a file of less than two parts stays whole."""
    return min(MOST, max(LEAST, size // PARTS))


def ranges(data: Any, size: int, layout: Layout, part: int) -> list[tuple[int, int]]:
    """(start, end) of each part of an open file; one alone where it cannot be divided."""
    if layout == "file" or size < 2 * part:
        return [(0, size)]
    bounds = [0]
    for wanted in range(part, size, part):
        if wanted <= bounds[-1]:
            continue  # a document longer than a part
        found = _document_after(data, wanted, min(wanted + part, size), layout)
        if found is not None and bounds[-1] < found < size:
            bounds.append(found)
    return list(zip(bounds, [*bounds[1:], size], strict=True))


def _document_after(data: Any, place: int, end: int, layout: Layout) -> int | None:
    """Where the first document begins at or after a place, if one does before `end`."""
    for start, line in _lines_after(data, place, end):
        if layout == "lines":
            return start
        if layout == "wikitext" and wikitext.is_title(line.decode("utf-8", "replace")):
            return start
        if layout == "paragraphs" and not line.strip():
            return start + len(line)
    return None


def _lines_after(data: Any, place: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Lines that begin at or after a place, each with where it begins."""
    data.seek(place - 1)
    start = place - 1 + len(data.readline())  # a line that began before; or only its end
    while start < end:
        line = data.readline()
        if not line.endswith(b"\n"):
            return
        yield start, line
        start += len(line)
