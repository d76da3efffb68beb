"""WikiText: articles with spaces around every sign, turned back into ordinary text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_HEADING = re.compile(r"^\s*(=(?: =)*) (.+?) \1\s*$")
_JOINED = re.compile(r" @([-.,])@ ")
_BEFORE = re.compile(r" ([.,;:!?%)\]}])")
_AFTER = re.compile(r"([(\[{$£#]) ")
_POSSESSIVE = re.compile(r" ('s|'S|'t|'re|'ve|'ll|'d|'m|n't)\b")
_QUOTED = re.compile(r'" ([^"]*?) "')


def looks_like_wikitext(lines: Iterable[str]) -> bool:
    """Whether the first lines have an article's title between empty lines.

    ` @-@ ` alone does not count, nor does a title's spelling between other lines.
    """
    around = ["", *lines, ""]  # a file begins and ends as if with an empty line
    return any(
        is_title(line) and not before.strip() and not after.strip()
        for before, line, after in zip(around, around[1:], around[2:], strict=False)
    )


def is_title(line: str) -> bool:
    heading = _HEADING.match(line)
    return heading is not None and heading.group(1) == "="


def articles(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield each article as the number of its first line and its paragraphs, headings dropped."""
    paragraphs: list[str] = []
    first = 1
    for number, line in enumerate(lines, 1):
        heading = _HEADING.match(line)
        if heading and heading.group(1) == "=":
            if paragraphs:
                yield first, paragraphs
            paragraphs, first = [], number
        elif not heading and line.strip():
            paragraphs.append(ordinary(line))
    if paragraphs:
        yield first, paragraphs


def ordinary(line: str) -> str:
    """One line without the spaces that tokenisation added."""
    text = _JOINED.sub(r"\1", line.strip())
    text = _QUOTED.sub(r'"\1"', text)
    text = _BEFORE.sub(r"\1", text)
    text = _AFTER.sub(r"\1", text)
    return _POSSESSIVE.sub(r"\1", text)
