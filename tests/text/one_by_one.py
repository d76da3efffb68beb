"""Tokenising by its definitions: one text, one token, one character at a time.

The package does the same for whole batches at once; tests compare the two.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.errors import BadInput, TextTooLong
from headscope.text.encodings import search
from headscope.text.spelling import TokenClass, is_punctuation, readable, spells_bytes
from headscope.text.tokenise import Batch, Text
from headscope.text.tokens import Tokens

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
    if isinstance(texts, str):
        raise BadInput("Give a list of texts; for one text use scope.read(text).")
    pairs = pairs if pairs is not None else [None] * len(texts)
    if len(pairs) != len(texts):
        raise BadInput(f"There are {len(texts)} texts but {len(pairs)} second sentences.")
    encoded = [
        _encode(tokenizer, text, pair, max_tokens, truncate, add_special_tokens)
        for text, pair in zip(texts, pairs, strict=True)
    ]
    longest = max(len(tokens) for tokens, _ in encoded)
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    ids = torch.full((len(encoded), longest), pad, dtype=torch.long)
    attention_mask = torch.zeros((len(encoded), longest), dtype=torch.long)
    types = torch.zeros((len(encoded), longest), dtype=torch.long)
    for row, (tokens, type_ids) in enumerate(encoded):
        ids[row, : len(tokens)] = torch.from_numpy(tokens.ids)
        attention_mask[row, : len(tokens)] = 1
        if type_ids is not None:
            types[row, : len(tokens)] = torch.tensor(type_ids)
    inputs = {"input_ids": ids, "attention_mask": attention_mask}
    if encoded[0][1] is not None:
        inputs["token_type_ids"] = types
    return Batch(inputs, [tokens for tokens, _ in encoded])


def _encode(
    tokenizer: Any,
    text: Text,
    pair: Text | None,
    max_tokens: int | None,
    truncate: bool,
    add_special_tokens: bool,
) -> tuple[Tokens, list[int] | None]:
    first, first_words = _as_string(text)
    second, second_words = (None, None) if pair is None else _as_string(pair)
    if not first.strip() and not (second or "").strip():
        raise BadInput("The text is empty; give at least one word.")
    encoding = tokenizer(
        first,
        second,
        add_special_tokens=add_special_tokens,
        return_offsets_mapping=bool(tokenizer.is_fast),
        truncation=False,
        verbose=False,
    )
    ids: list[int] = list(encoding["input_ids"])
    if max_tokens is not None and len(ids) > max_tokens:
        if not truncate:
            raise TextTooLong(
                f"The text has {len(ids):,} tokens and the model reads at most {max_tokens:,}; "
                "shorten it, or pass truncate=True (--truncate) to keep the beginning."
            )
        encoding = tokenizer(
            first,
            second,
            add_special_tokens=add_special_tokens,
            return_offsets_mapping=bool(tokenizer.is_fast),
            truncation=True,
            max_length=max_tokens,
            verbose=False,
        )
        ids = list(encoding["input_ids"])
    if not ids:
        raise BadInput("The tokenizer makes no tokens of this text; give at least one word.")
    texts = (first,) if second is None else (first, second)
    tokens = _tokens(tokenizer, ids, encoding, texts, (first_words, second_words))
    return tokens, encoding.get("token_type_ids")


def _as_string(text: Text) -> tuple[str, list[tuple[int, int]] | None]:
    """A text, and its words as spans when it came as a list of words."""
    if isinstance(text, str):
        return _encodable(text), None
    spans: list[tuple[int, int]] = []
    place = 0
    for word in text:
        spans.append((place, place + len(word)))
        place += len(word) + 1
    return _encodable(" ".join(text)), spans


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"Character {error.start} of the text is half a character (a lone surrogate); "
            "decode the text as UTF-8 again, or remove it."
        ) from error
    return text


def _tokens(
    tokenizer: Any,
    ids: list[int],
    encoding: Any,
    texts: tuple[str, ...],
    given_words: tuple[list[tuple[int, int]] | None, ...],
) -> Tokens:
    spelled = tuple(spelling_of(tokenizer, ids))
    sentence, spans = _places(tokenizer, spelled, ids, encoding, texts)
    words = np.full(len(ids), -1, dtype=np.int32)
    word_texts: list[str] = []
    for number, text in enumerate(texts):
        inside = sentence == number
        of_text = given_words[number]
        of_text = word_spans(text) if of_text is None else of_text
        words[inside] = words_of_spans(spans[inside], of_text, len(word_texts))
        word_texts += [text[start:end] for start, end in of_text]
    return Tokens(
        spellings=spelled,
        labels=_shown(tokenizer, ids, spelled, sentence, spans, texts),
        ids=np.array(ids, dtype=np.int64),
        classes=classes_of(tokenizer, ids, spelled),
        segments=_segments(sentence),
        word_ids=words,
        spans=spans,
        texts=texts,
        word_texts=tuple(word_texts),
    )


def _shown(tokenizer, ids, spelled, sentence, spans, texts) -> tuple[str, ...]:
    """As people read them; an unknown token as the text it stands for."""
    labels = list(labels_of(tokenizer, spelled))
    for place, (start, end) in enumerate(spans.tolist()):
        if ids[place] == tokenizer.unk_token_id and 0 <= start < end:
            labels[place] = texts[sentence[place]][start:end]
    return tuple(labels)


def labels_of(tokenizer: Any, spelled: Sequence[str]) -> tuple[str, ...]:
    of_bytes = spells_bytes(tokenizer)
    return tuple(readable(token, of_bytes) for token in spelled)


def spelling_of(tokenizer: Any, ids: list[int]) -> list[str]:
    tokens = tokenizer.convert_ids_to_tokens(ids)
    return [
        token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token)
        for token in tokens
    ]


def _places(
    tokenizer: Any, spelled: Sequence[str], ids: list[int], encoding: Any, texts: tuple[str, ...]
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """For each token its sentence (-1 for specials) and its span there, blanks trimmed."""
    if tokenizer.is_fast:
        of = [-1 if number is None else number for number in encoding.sequence_ids(0)]
        sentence = np.array(of, dtype=np.int8)
        spans = np.array(encoding["offset_mapping"], dtype=np.int32).reshape(-1, 2)
    else:
        sentence, spans = search(tokenizer, ids, texts)
    spans[sentence < 0] = -1
    for place in np.flatnonzero(sentence >= 0):
        start, end = spans[place]
        text = texts[sentence[place]]
        while start < end - 1 and text[start].isspace():
            start += 1
        spans[place] = start, end
    return sentence, spans


def _segments(sentence: NDArray[np.int8]) -> NDArray[np.int8]:
    """Specials belong to the sentence before them, a leading one to sentence A."""
    segments = sentence.copy()
    current = 0
    for place, number in enumerate(sentence):
        current = int(number) if number >= 0 else current
        segments[place] = current
    return segments


def classes_of(tokenizer: Any, ids: list[int], spelled: Sequence[str]) -> NDArray[np.int8]:
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    beginnings = {tokenizer.cls_token_id, tokenizer.bos_token_id} - {None}
    endings = {tokenizer.sep_token_id, tokenizer.eos_token_id} - {None}
    classes = np.empty(len(ids), dtype=np.int8)
    for place, (token_id, label) in enumerate(zip(ids, labels_of(tokenizer, spelled), strict=True)):
        if token_id in special:
            # GPT-2 has one token for both roles: at the start it begins, elsewhere it ends
            if token_id in beginnings and (place == 0 or token_id not in endings):
                classes[place] = TokenClass.CLS
            elif token_id in endings:
                classes[place] = TokenClass.SEP
            else:
                classes[place] = TokenClass.SPECIAL
        else:
            classes[place] = TokenClass.PUNCTUATION if is_punctuation(label) else TokenClass.WORD
    return classes


def was_cut(tokens: Tokens) -> bool:
    """Whether the text goes on after the last token that was read."""
    reached = [0] * len(tokens.texts)
    for (_, end), segment, word in zip(tokens.spans, tokens.segments, tokens.word_ids, strict=True):
        if word >= 0:
            reached[segment] = max(reached[segment], int(end))
    return any(end < len(text.rstrip()) for end, text in zip(reached, tokens.texts, strict=True))
