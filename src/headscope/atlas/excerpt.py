"""A place in a text as one line, the query and the keys marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

QUERY, KEY = ("[[", "]]"), ("<<", ">>")
NOWHERE = -1  # the query of a text that has none


@dataclass(frozen=True)
class DocumentTokens:
    """A text that examples come from, as its tokens."""

    number: int
    tokens: tuple[str, ...]  # as people read them
    segments: NDArray[np.int8]  # 0 for sentence A, 1 for sentence B
    continues: NDArray[np.bool_]  # the token goes on with the word before it

    def __len__(self) -> int:
        return len(self.tokens)


def excerpt(
    document: DocumentTokens | None,
    query: int,
    keys: Sequence[int],
    around: int = 12,
    about: int | None = None,
) -> str:
    """Tokens about the query, or about another place; a marked key that lies elsewhere is shown
    after an ellipsis."""
    if document is None:
        return ""
    centre = query if about is None else about
    low, high = max(0, centre - around), min(len(document), centre + around + 1)
    parts = [_stretch(document, low, high, query, keys)]
    for key in keys:
        if not low <= key < high:
            near = range(max(0, key - 2), min(len(document), key + 3))
            far = _stretch(document, near.start, near.stop, query, keys)
            parts = [far, *parts] if key < low else [*parts, far]
    lead = "… " if low > 0 and len(parts) == 1 else ""
    trail = " …" if high < len(document) else ""
    return lead + " … ".join(parts) + trail


def surrounded(document: DocumentTokens | None, query: int, around: int) -> tuple[str, str, str]:
    """What stands before a token, the token, and what stands after it."""
    if document is None:
        return "", "", ""
    low, high = max(0, query - around), min(len(document), query + around + 1)
    said = [_spelled(document, place, low) for place in range(low, high)]
    at = query - low
    before, after = ("".join(map("".join, some)) for some in (said[:at], said[at + 1 :]))
    gap, token = said[at]
    lead, trail = "… " if low > 0 else "", " …" if high < len(document) else ""
    return lead + before + gap, token, after + trail


def _stretch(document: DocumentTokens, low: int, high: int, query: int, keys: Sequence[int]) -> str:
    text = ""
    for place in range(low, high):
        gap, shown = _spelled(document, place, low)
        if place == query:
            shown = f"{QUERY[0]}{shown}{QUERY[1]}"
        if place in keys:
            shown = f"{KEY[0]}{shown}{KEY[1]}"
        text += gap + shown
    return text


def _spelled(document: DocumentTokens, place: int, first: int) -> tuple[str, str]:
    """The space before a token of a stretch, if there is one, and the token."""
    token = document.tokens[place]
    if place == first:
        return "", token
    return ("", token.removeprefix("##")) if document.continues[place] else (" ", token)
