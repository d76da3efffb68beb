"""Tokens of many texts as flat arrays, by the tokenizer's own call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.text.spelling import labels_of, spelling_of


@dataclass(frozen=True)
class Encodings:
    """The tokens of all texts in a row. A text is a sentence, or two."""

    lengths: NDArray[np.int64]  # tokens of each text
    ids: NDArray[np.int64]
    sentence: NDArray[np.int8]  # -1 for special tokens
    spans: NDArray[np.int32]  # n × 2, characters of the sentence; undefined for special tokens
    types: NDArray[np.int64] | None  # token types, if the model has them

    @property
    def starts(self) -> NDArray[np.int64]:
        """The position of each text's first token."""
        return np.cumsum(self.lengths) - self.lengths


def encode(
    tokenizer: Any,
    firsts: Sequence[str],
    seconds: Sequence[str | None],
    *,
    limit: int | None = None,
    add_special_tokens: bool = True,
) -> Encodings:
    """Encode texts or pairs of texts, truncated to `limit` tokens if given."""
    way = _encode_batch if tokenizer.is_fast else _encode_singly
    return way(tokenizer, firsts, seconds, limit, add_special_tokens)


def token_spans(
    tokenizer: Any, texts: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The number of tokens of each text by a fast tokenizer, and the spans of all in a row."""
    read = tokenizer(list(texts), add_special_tokens=False, truncation=False, verbose=False)
    offsets = [one.offsets for one in read.encodings]
    counts = np.fromiter(map(len, offsets), np.int64, len(offsets))
    flat = chain.from_iterable(chain.from_iterable(offsets))
    return counts, np.fromiter(flat, np.int32, 2 * int(counts.sum())).reshape(-1, 2)


def token_counts(tokenizer: Any, texts: Sequence[str]) -> NDArray[np.int64]:
    """The number of tokens of each text, without special ones."""
    read = tokenizer(list(texts), add_special_tokens=False, truncation=False, verbose=False)
    return np.fromiter(map(len, read["input_ids"]), np.int64, len(texts))


def _encode_batch(
    tokenizer: Any,
    firsts: Sequence[str],
    seconds: Sequence[str | None],
    limit: int | None,
    add_special_tokens: bool,
) -> Encodings:
    """With a fast tokenizer: one call for all texts, and one for all pairs of texts."""
    found: list[Any] = [None] * len(firsts)
    has_types = False
    # an empty second sentence counts as none, as in a call for one text
    for paired in (False, True):
        rows = [row for row, second in enumerate(seconds) if bool(second) == paired]
        if not rows:
            continue
        encoding = tokenizer(
            [firsts[row] for row in rows],
            [seconds[row] for row in rows] if paired else None,
            add_special_tokens=add_special_tokens,
            **_truncation(limit),
            verbose=False,
        )
        has_types = "token_type_ids" in encoding
        for row, one in zip(rows, encoding.encodings, strict=True):
            found[row] = one
    ids = [one.ids for one in found]
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    count = int(lengths.sum())
    offsets = chain.from_iterable(chain.from_iterable(one.offsets for one in found))
    # numpy reads None, the sentence of special tokens, as NaN
    sentence = np.array(
        list(chain.from_iterable(one.sequence_ids for one in found)), dtype=np.float32
    )
    sentence[np.isnan(sentence)] = -1
    types = chain.from_iterable(one.type_ids for one in found)
    return Encodings(
        lengths=lengths,
        ids=np.fromiter(chain.from_iterable(ids), np.int64, count),
        sentence=sentence.astype(np.int8),
        spans=np.fromiter(offsets, np.int32, 2 * count).reshape(-1, 2),
        types=np.fromiter(types, np.int64, count) if has_types else None,
    )


def _encode_singly(
    tokenizer: Any,
    firsts: Sequence[str],
    seconds: Sequence[str | None],
    limit: int | None,
    add_special_tokens: bool,
) -> Encodings:
    """With a tokenizer written in Python, which gives no spans, so they are searched for."""
    ids: list[list[int]] = []
    placed: list[tuple[NDArray[np.int8], NDArray[np.int32]]] = []
    types: list[list[int] | None] = []
    for first, second in zip(firsts, seconds, strict=True):
        options = {"add_special_tokens": add_special_tokens, "verbose": False}
        encoding = tokenizer(first, second, truncation=False, **options)
        if limit is not None and len(encoding["input_ids"]) > limit:
            encoding = tokenizer(first, second, **_truncation(limit), **options)
        ids.append(list(encoding["input_ids"]))
        types.append(encoding.get("token_type_ids"))
        texts = (first,) if second is None else (first, second)
        placed.append(search(tokenizer, ids[-1], texts))
    of_types = chain.from_iterable(
        one or [0] * len(row) for one, row in zip(types, ids, strict=True)
    )
    return Encodings(
        lengths=np.fromiter(map(len, ids), np.int64, len(ids)),
        ids=np.fromiter(chain.from_iterable(ids), np.int64),
        sentence=np.concatenate([sentence for sentence, _ in placed]),
        spans=np.concatenate([spans for _, spans in placed]),
        types=None if types[0] is None else np.fromiter(of_types, np.int64),
    )


def _truncation(limit: int | None) -> dict[str, Any]:
    return {"truncation": False} if limit is None else {"truncation": True, "max_length": limit}


def search(
    tokenizer: Any, ids: list[int], texts: tuple[str, ...]
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Each token's sentence (-1 for specials) and span, searched for after the token before it."""
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    sentence = np.full(len(ids), -1, dtype=np.int8)
    spans = np.full((len(ids), 2), -1, dtype=np.int32)
    number, reached = 0, 0
    spelled = spelling_of(tokenizer, ids)
    labels = labels_of(tokenizer, spelled)
    for at, (token, label, token_id) in enumerate(zip(spelled, labels, ids, strict=True)):
        if token_id in special:
            written = texts[number].find(token, reached)
            if written >= 0:  # it occurs in the text itself
                reached = written + len(token)
            elif at > 0 and sentence[at - 1] >= 0 and number + 1 < len(texts):
                number, reached = number + 1, 0
            continue
        text = _lowered(texts[number])
        spelled_out = label.removeprefix("##").lower()
        start = text.find(spelled_out, reached)
        if start >= 0:
            reached = start + len(spelled_out)
            spans[at] = start, reached
        else:  # part of a character, or unknown: search for the next token from here
            start = min(reached, max(len(text) - 1, 0))
            spans[at] = start, min(start + 1, len(text))
        sentence[at] = number
    return sentence, spans


def _lowered(text: str) -> str:
    """In lower case, unless that changes its length (İ becomes two characters)."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text
