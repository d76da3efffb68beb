"""Tokens of texts from tokens of their words: each word goes through the tokenizer once.

A few thousand words make up most of any text; looking them up is many times faster than cutting
them again. Only for tokenizers that read word by word (`word_by_word.py`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from headscope.text.encodings import Encodings
from headscope.text.special_tokens import Frame, frame_of, framed
from headscope.text.word_by_word import Spaces, spaces

Ints = NDArray[np.int64]

MOST = 2**21  # tokens remembered before all is forgotten and learnt anew, so that memory stays flat

# between a character and a space with a character right after it
_BEFORE_SPACES = re.compile(r"(?<=\S)(?= \S)")


class _Numbers(dict[str, int]):
    """Words by number; a new one gets the next and waits to be learnt."""

    def __init__(self, waiting: list[str], before: str = "") -> None:
        super().__init__()
        self._waiting, self._before = waiting, before
        self.known = 0

    def __missing__(self, word: str) -> int:
        number = self[word] = self.known + len(self._waiting)
        self._waiting.append(self._before + word)
        return number


class _Growing:
    """An array with room at its end, so that adding little does not copy much."""

    def __init__(self, dtype: type[np.generic], *tail: int) -> None:
        self.array: NDArray[Any] = np.zeros((1024, *tail), dtype=dtype)
        self.used = 0

    def add(self, new: NDArray[Any]) -> None:
        end = self.used + len(new)
        if end > len(self.array):
            room = np.zeros((2 * end - len(self.array), *new.shape[1:]), dtype=self.array.dtype)
            self.array = np.concatenate([self.array, room])
        self.array[self.used : end] = new
        self.used = end


class Read(NamedTuple):
    """Words of several texts in a row."""

    words: Ints
    ends: Ints  # where the words of each text end
    counts: Ints  # tokens of each word
    reached: Ints  # tokens up to the end of each word

    @property
    def tokens(self) -> Ints:
        """How many tokens each text has."""
        return _steps(self.reached.take(self.ends - 1))


def _steps(ends: Ints) -> Ints:
    steps = ends.copy()
    steps[1:] -= ends[:-1]
    return steps


class Words:
    """The tokens of every word met so far, for one tokenizer (which it does not hold)."""

    def __init__(self, kept: Spaces, added: dict[int, Any]) -> None:
        self._kept = kept == "kept"
        self.added = set(added)
        contents = [token.content for token in added.values()]
        self._first_letters = {content[0] for content in contents}
        self._any_added = re.compile("|".join(map(re.escape, contents)))
        self.frames: dict[bool, Frame | None] = {}
        self.lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        self._waiting: list[str] = []
        self._alone = _Numbers(self._waiting)
        self._spaced = _Numbers(self._waiting, before=" ")
        self._sizes = _Growing(np.int64)  # characters of each word, spaces included
        self._counts = _Growing(np.int64)  # its tokens
        self._firsts = _Growing(np.int64)  # where below they begin
        self._ids = _Growing(np.int64)
        self._spans = _Growing(np.int32, 2)

    def reads(self, text: str) -> bool:
        """Whether the text is made of words alone, with no token of its own written in it."""
        return not (
            any(letter in text for letter in self._first_letters) and self._any_added.search(text)
        )

    def read(self, tokenizer: Any, texts: Sequence[str]) -> Read:
        """The words of the texts by number; good until the next texts are read."""
        if self._ids.used > MOST:
            self.forget()
        numbers: list[int] = []
        ends: list[int] = []
        for text in texts:
            numbers += self._numbers(text)
            ends.append(len(numbers))
        if self._waiting:
            self._learn(tokenizer)
        words = np.array(numbers, dtype=np.int64)
        counts = self._counts.array.take(words)
        return Read(words, np.array(ends, dtype=np.int64), counts, counts.cumsum())

    def tokens(self, read: Read) -> tuple[Ints, NDArray[np.int32]]:
        """The ids and spans of the tokens, those of all texts in a row."""
        sizes = self._sizes.array.take(read.words)
        reached = sizes.cumsum()
        place = reached - sizes
        if len(read.ends) > 1:
            begins = np.zeros(len(read.ends), dtype=np.int64)
            begins[1:] = reached.take(read.ends[:-1] - 1)
            place -= begins.repeat(_steps(read.ends))
        at = (self._firsts.array.take(read.words) - read.reached + read.counts).repeat(read.counts)
        at += np.arange(len(at))
        spans = self._spans.array.take(at, axis=0)
        spans += place.astype(np.int32).repeat(read.counts)[:, None]
        return self._ids.array.take(at), spans

    def _numbers(self, text: str) -> Iterable[int]:
        if not self._kept:
            return map(self._alone.__getitem__, text.split(" "))
        # printable texts have no blanks but the space
        if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
            first, *rest = text.split(" ")
            return [self._alone[first], *map(self._spaced.__getitem__, rest)]
        return map(self._alone.__getitem__, _BEFORE_SPACES.split(text))

    def _learn(self, tokenizer: Any) -> None:
        new = list(self._waiting)
        backend = tokenizer.backend_tokenizer
        backend.no_truncation()
        backend.no_padding()
        try:
            # as the words of one text, each is read by itself, and many times faster than as texts
            (read,) = backend.encode_batch([new], is_pretokenized=True, add_special_tokens=False)
        except BaseException:
            self.forget()  # numbers without tokens must not stay
            raise
        counts = np.bincount(np.array(read.word_ids, dtype=np.int64), minlength=len(new))
        spans = np.array(read.offsets, dtype=np.int32).reshape(-1, 2)
        # where spaces are dropped, the one after a word counts as part of it
        sizes = np.fromiter(map(len, new), np.int64, len(new)) + (not self._kept)
        self._sizes.add(sizes)
        self._counts.add(counts)
        self._firsts.add(self._ids.used + np.cumsum(counts) - counts)
        self._ids.add(np.array(read.ids, dtype=np.int64))
        self._spans.add(spans)
        self._waiting.clear()
        self._alone.known = self._spaced.known = self._sizes.used


_KEPT: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Words | None]] = WeakKeyDictionary()


def encode_cached(
    tokenizer: Any,
    firsts: Sequence[str],
    seconds: Sequence[str | None],
    *,
    limit: int | None = None,
    add_special_tokens: bool = True,
) -> Encodings | None:
    """What `encode_batch` gives, from remembered words; None where that cannot be done."""
    words = _words_of(tokenizer)
    if words is None:
        return None
    # an empty second sentence counts as none, as in a call for one text
    paired = np.fromiter(map(bool, seconds), bool, len(seconds))
    texts = [
        text for both in zip(firsts, seconds, strict=True) for text in both if text is not None
    ]
    if not all(map(words.reads, texts)):
        return None
    with words.lock:
        if add_special_tokens not in words.frames:
            words.frames[add_special_tokens] = frame_of(tokenizer, add_special_tokens)
        frame = words.frames[add_special_tokens]
        if frame is None or (limit is not None and limit <= frame.specials):
            return None
        # every row has two texts here, the second empty where there is none
        flat = [text or "" for both in zip(firsts, seconds, strict=True) for text in both]
        read = words.read(tokenizer, flat)
        ids, spans = words.tokens(read)
    return framed(frame, paired, read.tokens.reshape(-1, 2), ids, spans, limit)


def cached_counts(tokenizer: Any, texts: Sequence[str]) -> Ints | None:
    """How many tokens each text has, without special ones; None where that is not remembered."""
    words = _words_of(tokenizer)
    if words is None or not all(map(words.reads, texts)):
        return None
    with words.lock:
        return words.read(tokenizer, texts).tokens


def cached_spans(tokenizer: Any, texts: Sequence[str]) -> tuple[Ints, NDArray[np.int32]] | None:
    """How many tokens each text has, and their spans in a row; None as above."""
    words = _words_of(tokenizer)
    if words is None or not all(map(words.reads, texts)):
        return None
    with words.lock:
        read = words.read(tokenizer, texts)
        return read.tokens, words.tokens(read)[1]


def _words_of(tokenizer: Any) -> Words | None:
    """The words remembered for a tokenizer; none are kept when it changes, or cannot be divided."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    parts = (backend.pre_tokenizer, backend.post_processor)
    state = (
        len(tokenizer),
        tuple(tokenizer.model_input_names),
        tokenizer.truncation_side,
        tokenizer.split_special_tokens,
        type(backend.model),
        getattr(backend.model, "dropout", None),
        *(None if part is None else part.__getstate__() for part in parts),
        repr(backend.normalizer),
        backend.encode_special_tokens,
    )
    kept = _KEPT.get(tokenizer)
    if kept is not None and kept[0] == state:
        words = kept[1]
        # a word of the vocabulary may become an added token, and the vocabulary stay as large
        if words is None or words.added == set(backend.get_added_tokens_decoder()):
            return words
    how = spaces(tokenizer)
    words = None if how is None else Words(how, backend.get_added_tokens_decoder())
    _KEPT[tokenizer] = (state, words)
    return words
