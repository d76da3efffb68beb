"""Batches by length: inputs of similar length together, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def by_length(lengths: Sequence[int] | NDArray[np.integer]) -> NDArray[np.intp]:
    """Indices in order of length, equal ones in their order, so that runs are repeatable."""
    return np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable")


def length_batches(
    lengths: Sequence[int] | NDArray[np.integer], most_tokens: int
) -> Iterator[NDArray[np.intp]]:
    """Indices grouped by length, each group with at most `most_tokens` tokens after padding.

    A longer text is a group of its own.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = by_length(sizes)
    start = 0
    for end in range(1, len(order) + 1):
        if end - start > 1 and int(sizes[order[end - 1]]) * (end - start) > most_tokens:
            yield order[start : end - 1]
            start = end - 1
    if start < len(order):
        yield order[start:]


def even_batches(
    lengths: Sequence[int] | NDArray[np.integer], most_tokens: int
) -> list[NDArray[np.intp]]:
    """As few groups as `length_batches` needs, but about equally large, the longest texts first.

    A group of any size costs Python the same time, and a GPU finishes a small one before Python has
    the next ready. Longest first shows at once whether memory suffices.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = by_length(-sizes)
    widths: list[int] = sizes[order].tolist()
    fewest = len(_starts(widths, most_tokens))
    low, high = 1, most_tokens  # lower the limit until one more group would be needed
    while low < high:
        limit = (low + high) // 2
        if len(_starts(widths, limit)) > fewest:
            low = limit + 1
        else:
            high = limit
    return np.split(order, _starts(widths, high)[1:]) if widths else []


def _starts(widths: Sequence[int], most: int) -> list[int]:
    """Where groups begin among texts sorted long to short: each group's first is its widest."""
    starts: list[int] = []
    at = 0
    while at < len(widths):
        starts.append(at)
        at += max(1, most // max(1, widths[at]))
    return starts


def text_lengths(texts: Sequence[str], pairs: Sequence[str | None]) -> list[int]:
    """Lengths in characters, of a pair together, known before encoding."""
    return [len(text) + len(pair or "") for text, pair in zip(texts, pairs, strict=True)]
