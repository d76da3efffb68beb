"""Batches by length: inputs of like length side by side, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def by_length(lengths: Sequence[int] | NDArray[np.integer]) -> NDArray[np.intp]:
    """Places in order of length; equal ones stay in their order, so that a run can be repeated."""
    return np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable")


def length_batches(
    lengths: Sequence[int] | NDArray[np.integer], most_tokens: int
) -> Iterator[NDArray[np.intp]]:
    """Places grouped by length, each group with at most `most_tokens` tokens once it is padded.

    A text that is longer by itself is a group of its own.
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

    A group costs Python the same whatever it holds, and a GPU that was given little is done before
    Python has the next one ready. Longest first finds out at once whether memory suffices.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = by_length(-sizes)
    widths: list[int] = sizes[order].tolist()
    fewest = len(_starts(widths, most_tokens))
    low, high = 1, most_tokens  # the limit is lowered until one group more would be needed
    while low < high:
        limit = (low + high) // 2
        if len(_starts(widths, limit)) > fewest:
            low = limit + 1
        else:
            high = limit
    return np.split(order, _starts(widths, high)[1:]) if widths else []


def _starts(widths: Sequence[int], most: int) -> list[int]:
    """Where groups begin among texts that become shorter: the first of a group is its widest."""
    starts: list[int] = []
    at = 0
    while at < len(widths):
        starts.append(at)
        at += max(1, most // max(1, widths[at]))
    return starts


def text_lengths(texts: Sequence[str], pairs: Sequence[str | None]) -> list[int]:
    """Lengths in characters, a pair's taken together: what is known before anything is encoded."""
    return [len(text) + len(pair or "") for text, pair in zip(texts, pairs, strict=True)]
