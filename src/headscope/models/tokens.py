"""Tokens of one input, and where they stand: characters, words, sentences, classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


class TokenClass(IntEnum):
    """What a token is, as far as statistics care."""

    CLS = 0
    SEP = 1
    SPECIAL = 2
    PUNCTUATION = 3
    WORD = 4


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens a model reads, one entry each; padding is never among them."""

    text: tuple[str, ...]  # as the vocabulary spells them
    labels: tuple[str, ...]  # as people read them
    ids: NDArray[np.int64]
    classes: NDArray[np.int8]  # TokenClass
    segments: NDArray[np.int8]  # 0 for sentence A and its specials, 1 for sentence B
    words: NDArray[np.int32]  # word number through all sentences, -1 for specials
    spans: NDArray[np.int32]  # n × 2, characters in the token's own sentence, -1 for specials
    texts: tuple[str, ...] = ()
    word_texts: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.text)

    @cached_property
    def continues(self) -> NDArray[np.bool_]:
        """True where a token goes on with the word of the token before it."""
        same = np.zeros(len(self), dtype=bool)
        same[1:] = (self.words[1:] == self.words[:-1]) & (self.words[1:] >= 0)
        return same

    @property
    def content(self) -> NDArray[np.bool_]:
        """True for words and punctuation, False for special tokens."""
        return self.classes >= TokenClass.PUNCTUATION

    def crop(self, length: int) -> Tokens:
        return Tokens(
            self.text[:length],
            self.labels[:length],
            self.ids[:length],
            self.classes[:length],
            self.segments[:length],
            self.words[:length],
            self.spans[:length],
            self.texts,
            self.word_texts,
        )

    @staticmethod
    def plain(text: list[str] | tuple[str, ...], sentence_b_start: int | None = None) -> Tokens:
        """Tokens known by their strings alone, as BertViz users hold them."""
        from headscope.models.spelling import class_by_spelling, readable, word_numbers

        n = len(text)
        segments = np.zeros(n, dtype=np.int8)
        if sentence_b_start is not None:
            segments[sentence_b_start:] = 1
        classes = np.array([class_by_spelling(token) for token in text], dtype=np.int8)
        return Tokens(
            text=tuple(text),
            labels=tuple(readable(token) for token in text),
            ids=np.full(n, -1, dtype=np.int64),
            classes=classes,
            segments=segments,
            words=word_numbers(text, classes, segments),
            spans=np.full((n, 2), -1, dtype=np.int32),
        )
