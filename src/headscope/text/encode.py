"""The quickest way in which a tokenizer can read many texts; all give the same tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.text.encodings import Encodings, encode_batch, encode_singly
from headscope.text.word_cache import (
    cached_counts,
    cached_spans,
    encode_cached,
)


def encode(
    tokenizer: Any,
    firsts: Sequence[str],
    seconds: Sequence[str | None],
    *,
    limit: int | None = None,
    add_special_tokens: bool = True,
) -> Encodings:
    """Texts or pairs of texts, cut to `limit` tokens where one is given."""
    given = (tokenizer, firsts, seconds)
    if not tokenizer.is_fast:
        return encode_singly(*given, limit=limit, add_special_tokens=add_special_tokens)
    known = encode_cached(*given, limit=limit, add_special_tokens=add_special_tokens)
    if known is not None:
        return known
    return encode_batch(*given, limit=limit, add_special_tokens=add_special_tokens)


def token_spans(
    tokenizer: Any, texts: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """How many tokens a fast tokenizer makes of each text, and the spans of all in a row."""
    known = cached_spans(tokenizer, texts)
    if known is not None:
        return known
    read = tokenizer(list(texts), add_special_tokens=False, truncation=False, verbose=False)
    offsets = [one.offsets for one in read.encodings]
    counts = np.fromiter(map(len, offsets), np.int64, len(offsets))
    flat = chain.from_iterable(chain.from_iterable(offsets))
    return counts, np.fromiter(flat, np.int32, 2 * int(counts.sum())).reshape(-1, 2)


def token_counts(tokenizer: Any, texts: Sequence[str]) -> NDArray[np.int64]:
    """How many tokens a tokenizer makes of each text, without special ones."""
    known = cached_counts(tokenizer, texts) if tokenizer.is_fast else None
    if known is not None:
        return known
    read = tokenizer(list(texts), add_special_tokens=False, truncation=False, verbose=False)
    return np.fromiter(map(len, read["input_ids"]), np.int64, len(texts))
