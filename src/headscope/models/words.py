"""Words of a text as character spans, for any script and without any tokenizer.

Letters, digits and marks hold together, an apostrophe between letters too; each punctuation
mark, symbol and ideograph stands alone; joiners and modifiers stay with what they change.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_APOSTROPHES = "'’"
_JOINER = "\u200d"
_IDEOGRAPHS = ((0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF), (0x3040, 0x30FF))


def word_spans(text: str) -> list[tuple[int, int]]:
    """The words of `text` in order, each as (start, end)."""
    spans: list[tuple[int, int]] = []
    for place, letter in enumerate(text):
        if letter.isspace():
            continue
        if spans and spans[-1][1] == place and _goes_on(text, place):
            spans[-1] = (spans[-1][0], place + 1)
        else:
            spans.append((place, place + 1))
    return spans


def _goes_on(text: str, place: int) -> bool:
    """Whether the character belongs to the word of the character right before it."""
    sort = _sort(text, place)
    if sort == "mark" or text[place - 1] == _JOINER:
        return True
    before = place - 1
    while before > 0 and _sort(text, before) == "mark":
        before -= 1
    return sort == "letter" and _sort(text, before) in ("letter", "mark")


def _sort(text: str, place: int) -> str:
    letter = text[place]
    if letter.isspace():
        return "space"
    category = unicodedata.category(letter)
    if category[0] == "M" or category == "Cf" or category == "Sk":
        return "mark"
    if category[0] in "LN" or letter == "_":
        return "alone" if _is_ideograph(letter) else "letter"
    inside = letter in _APOSTROPHES and 0 < place < len(text) - 1
    if inside and text[place - 1].isalpha() and text[place + 1].isalpha():
        return "letter"
    return "alone"


@lru_cache(maxsize=4096)  # asked for every letter of every text
def _is_ideograph(letter: str) -> bool:
    return any(low <= ord(letter) <= high for low, high in _IDEOGRAPHS)


def words_of_spans(
    spans: NDArray[np.int32], words: list[tuple[int, int]], first: int
) -> NDArray[np.int32]:
    """For each token span the number of the word it lies in, counted from `first`; -1 for none.

    A token that covers several words belongs to the one it begins in; one that covers only
    blanks belongs to the word after it.
    """
    numbers = np.full(len(spans), -1, dtype=np.int32)
    if not words:
        return numbers
    ends = np.array([end for _, end in words])
    for place, start in enumerate(spans[:, 0]):
        if start < 0:
            continue
        numbers[place] = first + min(
            int(np.searchsorted(ends, start, side="right")), len(words) - 1
        )
    return numbers
