"""From texts to model inputs and `Tokens`, with any tokenizer transformers knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_whole_characters, shown
from headscope.errors import BadInput, TextTooLong
from headscope.text.encodings import Encodings, encode
from headscope.text.spelling import Vocabulary
from headscope.text.tokens import Tokens
from headscope.text.words import Characters, Spans

if TYPE_CHECKING:  # processes that only prepare text run without torch
    import torch
    from torch import Tensor

Text = str | Sequence[str]  # a string, or a list of words


@dataclass(frozen=True)
class Batch:
    """Model inputs padded on the right, and the tokens of each text without the padding."""

    inputs: dict[str, Tensor]  # input_ids, attention_mask, token_type_ids if the model has them
    tokens: list[Tokens]

    def __len__(self) -> int:
        return len(self.tokens)

    def to(self, device: torch.device | str) -> Batch:
        moved = {name: tensor.to(device) for name, tensor in self.inputs.items()}
        return Batch(moved, self.tokens)


@dataclass(frozen=True)
class _Texts:
    """A text and its second sentence as strings, with their words if they were lists."""

    first: str
    second: str | None
    words: tuple[Spans | None, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.first,) if self.second is None else (self.first, self.second)


def split_pairs(
    texts: Any, pairs: Sequence[Text | None] | None
) -> tuple[list[Text], list[Text | None]]:
    """First and second sentences; a tuple of two texts is a pair everywhere."""
    if isinstance(texts, str):
        raise BadInput("Give a list of texts; for one text use scope.read(text).")
    if not isinstance(texts, Iterable):
        raise BadInput(f"Give a list of texts, not {type(texts).__name__}.")
    texts = list(texts)
    seconds: list[Text | None] = [None] * len(texts) if pairs is None else list(pairs)
    if len(seconds) != len(texts):
        raise BadInput(f"There are {len(texts)} texts but {len(seconds)} second sentences.")
    firsts: list[Text] = []
    for at, text in enumerate(texts):
        if not isinstance(text, tuple):
            firsts.append(text)
            continue
        if len(text) != 2:
            raise BadInput(
                f"A tuple is a pair of two texts, and this one holds {len(text)}; "
                "give the words of a text as a list."
            )
        if seconds[at] is not None:
            raise BadInput("This text is a pair already; leave text_pair out.")
        firsts.append(text[0])
        seconds[at] = text[1]
    return firsts, seconds


def need_one_text(text: object) -> None:
    """Raise an error for a list of texts instead of one text or its list of words."""
    if not isinstance(text, list) or len(text) < 2:  # pyright: ignore[reportUnknownArgumentType]
        return
    if all(isinstance(one, str) and len(one.split()) > 1 for one in text):  # pyright: ignore
        raise BadInput(
            f"A list means the words of one text, and this one has {len(text)} texts "  # pyright: ignore
            f"({text[0][:40]!r}, …); read them with scope.read_batch(texts), or pass one text at "
            "a time."
        )


def tokenise(
    tokenizer: Any,
    texts: Sequence[Text],
    pairs: Sequence[Text | None] | None = None,
    *,
    max_tokens: int | None = None,
    truncate: bool = False,
    add_special_tokens: bool = True,
) -> Batch:
    """Encode texts (strings, or lists of words) into one padded batch."""
    import torch

    arrays, tokens = tokenised(
        tokenizer, texts, pairs, max_tokens=max_tokens, truncate=truncate,
        add_special_tokens=add_special_tokens,
    )  # fmt: skip
    return Batch({name: torch.from_numpy(array) for name, array in arrays.items()}, tokens)


def tokenised(
    tokenizer: Any,
    texts: Sequence[Text],
    pairs: Sequence[Text | None] | None = None,
    *,
    max_tokens: int | None = None,
    truncate: bool = False,
    add_special_tokens: bool = True,
) -> tuple[dict[str, NDArray[np.int64]], list[Tokens]]:
    """The inputs and tokens of a batch, without torch."""
    if isinstance(texts, str):
        raise BadInput("Give a list of texts; for one text use scope.read(text).")
    if not texts:
        raise BadInput("There is no text; give at least one.")
    pairs = pairs if pairs is not None else [None] * len(texts)
    if len(pairs) != len(texts):
        raise BadInput(f"There are {len(texts)} texts but {len(pairs)} second sentences.")
    given, fault = _all_texts(texts, pairs)
    if fault is not None and not given:
        raise fault
    encodings = encode(
        tokenizer,
        [one.first for one in given],
        [one.second for one in given],
        limit=max_tokens if truncate else None,
        add_special_tokens=add_special_tokens,
    )
    _check(encodings.lengths, None if truncate else max_tokens)
    if fault is not None:
        raise fault
    return _padded(tokenizer, encodings), _tokens(tokenizer, encodings, given)


def _check(lengths: NDArray[np.int64], most: int | None) -> None:
    for length in lengths.tolist():
        if not length:
            raise BadInput("The tokenizer makes no tokens of this text; give at least one word.")
        if most is not None and length > most:
            raise TextTooLong(
                f"The text has {length:,} tokens and the model reads at most {most:,}; "
                "shorten it, or pass truncate=True (--truncate) to keep the beginning."
            )


def _all_texts(
    texts: Sequence[Text], pairs: Sequence[Text | None]
) -> tuple[list[_Texts], BadInput | None]:
    """The texts up to the first unreadable one, and its error.

    An earlier text may turn out too long; then that is the first error to raise.
    """
    given: list[_Texts] = []
    for text, pair in zip(texts, pairs, strict=True):
        try:
            given.append(_texts_of(text, pair))
        except BadInput as error:
            return given, error
    return given, None


def _texts_of(text: Text, pair: Text | None) -> _Texts:
    first, first_words = _as_string(text)
    second, second_words = (None, None) if pair is None else _as_string(pair)
    if not first.strip() and not (second or "").strip():
        raise BadInput("The text is empty; give at least one word.")
    return _Texts(first, second, (first_words, second_words))


def _as_string(text: Text) -> tuple[str, Spans | None]:
    """A text, and its words as spans if it was a list of words."""
    if isinstance(text, str):
        need_whole_characters(text, "the text")
        return text, None
    is_frame = hasattr(text, "columns")  # iterating gives its column names
    if isinstance(text, bytes | Mapping) or not hasattr(text, "__iter__") or is_frame:
        raise BadInput(
            f"A text is a string or a list of words, and this is {_described(text)}; "
            "give the text itself."
        )
    spans: Spans = []
    place = 0
    try:
        words = list(text)  # a generator is read once
    except TypeError as error:  # an array or a tensor of one number
        raise BadInput(f"A text is a string or a list of words, not {shown(text)}.") from error
    for word in words:
        if not isinstance(word, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadInput(f"A list of words holds strings; one of these is {_described(word)}.")
        spans.append((place, place + len(word)))
        place += len(word) + 1
    whole = " ".join(words)
    need_whole_characters(whole, "the text")
    return whole, spans


def _described(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, bytes):
        return "bytes, which have to be decoded first: text.decode('utf-8')"
    return f"of type {type(value).__name__}"


def _padded(tokenizer: Any, encodings: Encodings) -> dict[str, NDArray[np.int64]]:
    mask = np.arange(encodings.lengths.max()) < encodings.lengths[:, None]
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    ids = np.full(mask.shape, pad, dtype=np.int64)
    ids[mask] = encodings.ids
    inputs = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
    if encodings.types is not None:
        types = np.zeros(mask.shape, dtype=np.int64)
        types[mask] = encodings.types
        inputs["token_type_ids"] = types
    return inputs


def _tokens(tokenizer: Any, encodings: Encodings, given: Sequence[_Texts]) -> list[Tokens]:
    vocabulary = Vocabulary(tokenizer, encodings.ids)
    characters = Characters(
        [text for one in given for text in one.texts],
        [words for one in given for words in one.words[: len(one.texts)]],
    )
    spans, word_ids = _in_texts(encodings, given, characters)
    classes = vocabulary.classes(encodings.ids, encodings.starts)
    segments = _segments(encodings)
    words = iter(characters.words())
    found: list[Tokens] = []
    for one, start, length in zip(given, encodings.starts, encodings.lengths, strict=True):
        own = slice(start, start + length)
        tokens = Tokens(
            spellings=vocabulary.spelled(encodings.ids[own]),
            labels=vocabulary.labels(encodings.ids[own]),
            ids=encodings.ids[own],
            classes=classes[own],
            segments=segments[own],
            word_ids=word_ids[own],
            spans=spans[own],
            texts=one.texts,
            word_texts=tuple(chain.from_iterable(islice(words, len(one.texts)))),
        )
        found.append(_unknown_as_written(tokens, vocabulary.unknown))
    return found


def _unknown_as_written(tokens: Tokens, unknown: int | None) -> Tokens:
    """Label an unknown token with its text."""
    at = np.flatnonzero((tokens.ids == unknown) & (tokens.spans[:, 0] >= 0))
    if not len(at):
        return tokens
    labels = list(tokens.labels)
    for one in at.tolist():
        start, end = tokens.spans[one].tolist()
        labels[one] = tokens.texts[tokens.segments[one]][start:end] or labels[one]
    return replace(tokens, labels=tuple(labels))


def _in_texts(
    encodings: Encodings, given: Sequence[_Texts], characters: Characters
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each token its span, blanks trimmed, and its word; -1 for specials."""
    texts = np.fromiter((len(one.texts) for one in given), np.int64, len(given))
    first_text = np.cumsum(texts) - texts  # the number of each row's first text among all
    inside = np.flatnonzero(encodings.sentence >= 0)
    row = np.repeat(np.arange(len(given)), encodings.lengths)[inside]
    text = first_text[row] + encodings.sentence[inside]
    spans = np.full((len(encodings.ids), 2), -1, dtype=np.int32)
    words = np.full(len(encodings.ids), -1, dtype=np.int32)
    spans[inside] = own = characters.without_blanks(text, encodings.spans[inside])
    words[inside] = found = characters.words_at(text, own[:, 0])
    # words are counted through both sentences
    second = np.flatnonzero((encodings.sentence[inside] == 1) & (found >= 0))
    words[inside[second]] += characters.word_counts[first_text[row[second]]]
    return spans, words


def _segments(encodings: Encodings) -> NDArray[np.int8]:
    """Sentence numbers: specials belong to the sentence before them, a leading one to A."""
    known = encodings.sentence >= 0
    known[encodings.starts] = True
    last_known = np.maximum.accumulate(np.where(known, np.arange(len(known)), 0))
    return np.maximum(encodings.sentence, 0)[last_known]
