"""Words of texts as character spans, for any script and without any tokenizer.

Letters, digits and marks form one word, also with an apostrophe between letters; each punctuation
mark, symbol and ideograph is a word of its own; joiners and modifiers stay with the character
before them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_APOSTROPHES = "'’"
_JOINER = 0x200D
_IDEOGRAPHS = ((0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF), (0x3040, 0x30FF))

Spans = list[tuple[int, int]]

# each character's class; UNMET until a text has it, so that importing is quick
_UNMET, _SPACE, _MARK, _LETTER, _ALPHABETIC, _APOSTROPHE, _ALONE = 0, 1, 2, 4, 8, 16, 32
_SORTS = np.zeros(0x110000, dtype=np.uint8)


class Characters:
    """The characters of many texts in a row, a blank before and after each text."""

    def __init__(self, texts: Sequence[str], given: Sequence[Spans | None] = ()) -> None:
        """`given` holds the words of texts with known words."""
        self._text, self._given = f" {' '.join(texts)} ", dict(enumerate(given))
        self._points = np.frombuffer(
            self._text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32
        )
        self._sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        self._starts = np.cumsum(self._sizes + 1) - self._sizes
        self._sorts = _sorts(self._points)
        self._blank = (self._sorts & _SPACE) > 0
        begins = self._word_begins()
        # a word ends where a blank or the next word follows a non-blank character
        ends = np.zeros(len(begins), dtype=np.int32)
        ends[1:] = ~self._blank[:-1] & (self._blank[1:] | begins[1:])
        self._firsts, self._lasts = np.flatnonzero(begins), np.flatnonzero(ends)
        for number, spans in self._given.items():
            if spans is not None:
                start = self._starts[number]
                ends[start : start + self._sizes[number] + 1] = 0
                np.add.at(ends, start + np.array([end for _, end in spans], dtype=np.int64), 1)
        self._ended = np.cumsum(ends, dtype=np.int32)  # words that ended up to each character
        self.word_counts = (
            self._ended[self._starts + self._sizes] - self._ended[self._starts - 1]
        ).astype(np.int32)

    def _word_begins(self) -> NDArray[np.bool_]:
        mark = (self._sorts & _MARK) > 0
        letter = (self._sorts & _LETTER) > 0
        alphabetic = (self._sorts & _ALPHABETIC) > 0
        inside = np.flatnonzero(self._sorts & _APOSTROPHE)
        letter[inside] = alphabetic[inside - 1] & alphabetic[inside + 1]
        goes_on = np.zeros(len(letter), dtype=bool)
        if not mark.any():
            goes_on[1:] = letter[1:] & letter[:-1]
        else:
            # marks take the class of the character they modify, within the text
            held = ~mark
            held[self._starts] = True
            holder = np.maximum.accumulate(np.where(held, np.arange(len(held)), 0))
            goes_on[1:] = letter[1:] & (letter | mark)[holder[:-1]]
            goes_on[1:] |= mark[1:] | (self._points[:-1] == _JOINER)
        begins = ~self._blank
        begins[1:] &= self._blank[:-1] | ~goes_on[1:]
        return begins

    def without_blanks(
        self, text: NDArray[np.int64], spans: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Spans in the texts numbered `text`, blanks at their start left out but for the last."""
        starts, last = spans[:, 0], spans[:, 1] - 1
        at = self._starts[text] + starts
        leading = np.flatnonzero(self._blank[at] & (starts < last))
        if len(leading):
            letters = np.flatnonzero(~self._blank)
            # a blank after the very last letter has no letter to move to
            letters = np.append(letters, len(self._blank))
            next_letter = letters[np.searchsorted(letters, at[leading])] - at[leading]
            spans = spans.copy()
            spans[leading, 0] = np.minimum(starts[leading] + next_letter, last[leading])
        return spans

    def words_at(self, text: NDArray[np.int64], places: NDArray[np.int32]) -> NDArray[np.int32]:
        """The word at each position of the texts numbered `text`; -1 without words.

        A position among blanks belongs to the word after them, or to the last.
        """
        start = self._starts[text]
        number = self._ended[start + places] - self._ended[start - 1]
        return np.minimum(number, self.word_counts[text] - 1)

    def spans(self) -> Spans:
        """The words of the only text."""
        return list(zip((self._firsts - 1).tolist(), (self._lasts - 1).tolist(), strict=True))

    def words(self) -> list[list[str]]:
        """The words of each text as strings."""
        bounds = zip(self._firsts.tolist(), self._lasts.tolist(), strict=True)
        every = [self._text[start:end] for start, end in bounds]
        cuts = np.searchsorted(self._firsts, [*self._starts, len(self._text)]).tolist()
        of_texts: list[list[str]] = []
        for number, start in enumerate(self._starts.tolist()):
            given = self._given.get(number)
            if given is None:
                of_texts.append(every[cuts[number] : cuts[number + 1]])
            else:
                of_texts.append([self._text[start + a : start + b] for a, b in given])
        return of_texts


def word_spans(text: str) -> Spans:
    """The words of `text` in order, each as (start, end)."""
    return Characters([text]).spans()


def words_of_spans(spans: NDArray[np.int32], words: Spans, first: int) -> NDArray[np.int32]:
    """For each token span the number of its word, counted from `first`; -1 for none.

    A token that covers several words belongs to the one it begins in; one that covers only
    blanks belongs to the word after it.
    """
    numbers = np.full(len(spans), -1, dtype=np.int32)
    if words:
        inside = spans[:, 0] >= 0
        found = np.searchsorted([end for _, end in words], spans[inside, 0], side="right")
        numbers[inside] = first + np.minimum(found, len(words) - 1)
    return numbers


def _sorts(points: NDArray[np.uint32]) -> NDArray[np.uint8]:
    sorts = _SORTS[points]
    if not sorts.all():
        for point in np.unique(points[sorts == _UNMET]).tolist():
            _SORTS[point] = _sort(chr(point))
        sorts = _SORTS[points]
    return sorts


def _sort(letter: str) -> int:
    if letter.isspace():
        return _SPACE
    alphabetic = _ALPHABETIC if letter.isalpha() else 0
    category = unicodedata.category(letter)
    if category[0] == "M" or category == "Cf" or category == "Sk":
        return _MARK | alphabetic
    if category[0] in "LN" or letter == "_":
        alone = any(low <= ord(letter) <= high for low, high in _IDEOGRAPHS)
        return (_ALONE if alone else _LETTER) | alphabetic
    return _APOSTROPHE if letter in _APOSTROPHES else _ALONE
