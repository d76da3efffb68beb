"""Tokens of many texts as flat arrays, from the tokenizer in as few calls as it allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.text.search import search


@dataclass(frozen=True)
class Encodings:
    """One text's tokens after the other's. A text is a sentence, or two."""

    lengths: NDArray[np.int64]  # tokens of each text
    ids: NDArray[np.int64]
    sentence: NDArray[np.int8]  # -1 for tokens that stand in no sentence
    spans: NDArray[np.int32]  # n × 2, characters of the sentence; meaningless outside
    types: NDArray[np.int64] | None  # token types, where the model has them

    @property
    def starts(self) -> NDArray[np.int64]:
        """The place of each text's first token."""
        return np.cumsum(self.lengths) - self.lengths


def encode_batch(
    tokenizer: Any,
    firsts: Sequence[str],
    seconds: Sequence[str | None],
    *,
    limit: int | None = None,
    add_special_tokens: bool = True,
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
            **_cut(limit),
            verbose=False,
        )
        has_types = "token_type_ids" in encoding
        for row, one in zip(rows, encoding.encodings, strict=True):
            found[row] = one
    ids = [one.ids for one in found]
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    count = int(lengths.sum())
    offsets = chain.from_iterable(chain.from_iterable(one.offsets for one in found))
    # None, for tokens of no sentence, is read as not-a-number
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


def encode_singly(
    tokenizer: Any,
    firsts: Sequence[str],
    seconds: Sequence[str | None],
    *,
    limit: int | None = None,
    add_special_tokens: bool = True,
) -> Encodings:
    """With a tokenizer written in Python, which tells no spans: they are looked for."""
    ids: list[list[int]] = []
    places: list[tuple[NDArray[np.int8], NDArray[np.int32]]] = []
    types: list[list[int] | None] = []
    for first, second in zip(firsts, seconds, strict=True):
        options = {"add_special_tokens": add_special_tokens, "verbose": False}
        encoding = tokenizer(first, second, truncation=False, **options)
        if limit is not None and len(encoding["input_ids"]) > limit:
            encoding = tokenizer(first, second, **_cut(limit), **options)
        ids.append(list(encoding["input_ids"]))
        types.append(encoding.get("token_type_ids"))
        texts = (first,) if second is None else (first, second)
        places.append(search(tokenizer, ids[-1], texts))
    of_types = chain.from_iterable(
        one or [0] * len(row) for one, row in zip(types, ids, strict=True)
    )
    return Encodings(
        lengths=np.fromiter(map(len, ids), np.int64, len(ids)),
        ids=np.fromiter(chain.from_iterable(ids), np.int64),
        sentence=np.concatenate([sentence for sentence, _ in places]),
        spans=np.concatenate([spans for _, spans in places]),
        types=None if types[0] is None else np.fromiter(of_types, np.int64),
    )


def _cut(limit: int | None) -> dict[str, Any]:
    return {"truncation": False} if limit is None else {"truncation": True, "max_length": limit}
