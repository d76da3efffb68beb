"""An example as one line, the query and the keys marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.text.spelling import SPACES, joined

QUERY, KEY = ("[[", "]]"), ("<<", ">>")
NOWHERE = -1  # the query's number in a text without the query


@dataclass(frozen=True)
class DocumentTokens:
    """A text that examples come from, as its tokens."""

    number: int
    tokens: tuple[str, ...]  # as people read them
    segments: NDArray[np.int8]  # 0 for sentence A, 1 for sentence B
    continues: NDArray[np.bool_]  # the token continues the word before it

    def __len__(self) -> int:
        return len(self.tokens)


def excerpt(
    document: DocumentTokens | None,
    query: int,
    keys: Sequence[int],
    around: int = 12,
    about: int | None = None,
) -> str:
    """Tokens about the query, or about another position; a marked key that lies elsewhere is shown
    after an ellipsis."""
    if document is None:
        return ""
    centre = query if about is None else about
    low, high = max(0, centre - around), min(len(document), centre + around + 1)
    parts = [_stretch(document, low, high, query, keys, low)]
    for key in keys:
        if not low <= key < high:
            near = range(max(0, key - 2), min(len(document), key + 3))
            far = _stretch(document, near.start, near.stop, query, keys, near.start)
            parts = [far, *parts] if key < low else [*parts, far]
    lead = "… " if low > 0 and len(parts) == 1 else ""
    trail = " …" if high < len(document) else ""
    return lead + " … ".join(parts) + trail


def surrounded(document: DocumentTokens | None, query: int, around: int) -> tuple[str, str, str]:
    """The text before a token, the token, and the text after it."""
    if document is None:
        return "", "", ""
    low, high = max(0, query - around), min(len(document), query + around + 1)
    lead, trail = "… " if low > 0 else "", " …" if high < len(document) else ""
    before, after = (
        _stretch(document, *some, NOWHERE, (), low) for some in ((low, query), (query + 1, high))
    )
    gap, token = _spelled(document, query, low)
    return lead + before + gap, token, after + trail


def _stretch(
    document: DocumentTokens, low: int, high: int, query: int, keys: Sequence[int], first: int
) -> str:
    """The tokens of a stretch; words without a mark are spelled as in the text."""
    text, run = "", list[str]()  # the pieces of a word before this one, none of them marked
    for at in range(low, high):
        gap, shown = _spelled(document, at, first)
        marked = at == query or at in keys
        if gap or marked:
            text += _said(run, cut=not gap)
            run = []
        text += gap
        if not marked:
            run.append(shown)
            continue
        if at == query:
            shown = f"{QUERY[0]}{shown}{QUERY[1]}"
        text += f"{KEY[0]}{shown}{KEY[1]}" if at in keys else shown
    return text + _said(run, cut=high < len(document) and bool(document.continues[high]))


def _said(pieces: list[str], cut: bool) -> str:
    """Pieces of a word, which a mark may cut (`cut`); a space before the word is not part of it."""
    return "" if cut and len(pieces) == 1 and pieces[0] in SPACES else joined(pieces)


def _spelled(document: DocumentTokens, at: int, first: int) -> tuple[str, str]:
    """The space before a token of a stretch, if there is one, and the token."""
    token = document.tokens[at]
    if at == first:
        return "", token
    return ("", token.removeprefix("##")) if document.continues[at] else (" ", token)
