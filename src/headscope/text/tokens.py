"""Tokens of one input, with their characters, words, sentences and classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.media.positions import Positions
from headscope.text.spelling import TokenClass, class_by_spelling, readable, word_numbers

STOPS = frozenset((".", ","))
_PER_TOKEN = ("spellings", "labels", "ids", "classes", "segments", "word_ids", "spans")


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens a model reads, one entry each, without padding."""

    spellings: tuple[str, ...]  # as the vocabulary spells them
    labels: tuple[str, ...]  # for display
    ids: NDArray[np.int64]  # of the vocabulary; below -1: one for each spelling; -1: unknown
    classes: NDArray[np.int8]  # TokenClass
    segments: NDArray[np.int8]  # 0 for sentence A and its specials, 1 for sentence B
    word_ids: NDArray[np.int32]  # word number through all sentences, -1 for specials
    spans: NDArray[np.int32]  # n × 2, characters in the token's own sentence, -1 for specials
    texts: tuple[str, ...] = ()  # the input texts: one, or sentences A and B
    word_texts: tuple[str, ...] = ()
    positions: Positions | None = None  # in a picture or a sound

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def continues(self) -> NDArray[np.bool_]:
        """True if a token continues the word of the token before it."""
        return continued(self.word_ids)

    @property
    def content(self) -> NDArray[np.bool_]:
        """True for words and punctuation, False for special tokens."""
        return self.classes >= TokenClass.PUNCTUATION

    @cached_property
    def stops(self) -> NDArray[np.bool_]:
        """True for full stops and commas that the vocabulary knows."""
        both = zip(self.labels, self.spellings, strict=True)
        return np.array([of in STOPS and token.endswith(of) for of, token in both], dtype=bool)

    @cached_property
    def is_truncated(self) -> bool:
        """Whether a text continues after its last token."""
        end = len(self.word_ids)
        for number in range(len(self.texts) - 1, -1, -1):  # sentences are in order
            start = int(np.searchsorted(self.segments, number))
            last = end - 1
            while last >= start and self.word_ids[last] < 0:
                last -= 1
            reached = int(self.spans[last, 1]) if last >= start else 0
            if reached < len(self.texts[number].rstrip()):
                return True
            end = start
        return False

    def crop(self, length: int, start: int = 0) -> Tokens:
        """The tokens from `start` up to `length`."""
        kept: dict[str, Any] = {name: getattr(self, name)[start:length] for name in _PER_TOKEN}
        if self.positions is not None:
            kept["positions"] = self.positions.chosen(slice(start, length))
        return dataclasses.replace(self, **kept)

    @property
    def comparable_ids(self) -> NDArray[np.int64]:
        """Numbers that are equal for equal tokens; unknown tokens are never equal."""
        return np.where(self.ids == -1, -(2**29) - np.arange(len(self)), self.ids)

    def with_ids(self, ids: Sequence[int]) -> Tokens:
        """The tokens with these ids."""
        return dataclasses.replace(self, ids=np.array(ids, dtype=np.int64))

    @staticmethod
    def plain(text: list[str] | tuple[str, ...], sentence_b_start: int | None = None) -> Tokens:
        """Tokens from strings alone, as in BertViz."""
        n = len(text)
        segments = np.zeros(n, dtype=np.int8)
        if sentence_b_start is not None:
            segments[sentence_b_start:] = 1
        classes = np.array([class_by_spelling(token) for token in text], dtype=np.int8)
        return Tokens(
            spellings=tuple(text),
            labels=tuple(readable(token) for token in text),
            ids=_ids_by_spelling(text),
            classes=classes,
            segments=segments,
            word_ids=word_numbers(text, classes, segments),
            spans=np.full((n, 2), -1, dtype=np.int32),
        )


def continued(word_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """True if a word's number equals the one before, along the last axis."""
    same = np.zeros(word_ids.shape, dtype=bool)
    same[..., 1:] = (word_ids[..., 1:] == word_ids[..., :-1]) & (word_ids[..., 1:] >= 0)
    return same


def _ids_by_spelling(text: Sequence[str]) -> NDArray[np.int64]:
    """Equal strings get equal numbers, all below those of any vocabulary."""
    numbers: dict[str, int] = {}
    return np.array([-2 - numbers.setdefault(one, len(numbers)) for one in text], dtype=np.int64)
