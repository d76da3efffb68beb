"""Batches by length: inputs of like length side by side, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def by_length(lengths: Sequence[int] | NDArray[np.integer]) -> NDArray[np.intp]:
    """Places in order of length; equal ones stay in their order, so that a run can be repeated."""
    return np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable")


def length_batches(
    lengths: Sequence[int] | NDArray[np.integer], most_tokens: int, *, longest_first: bool = False
) -> Iterator[NDArray[np.intp]]:
    """Places grouped by length, each group with at most `most_tokens` tokens once it is padded.

    A text that is longer by itself is a group of its own. Longest first finds out at once whether
    memory suffices.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = by_length(-sizes if longest_first else sizes)
    start = 0
    for end in range(1, len(order) + 1):
        widest = sizes[order[start]] if longest_first else sizes[order[end - 1]]
        if end - start > 1 and int(widest) * (end - start) > most_tokens:
            yield order[start : end - 1]
            start = end - 1
    if start < len(order):
        yield order[start:]


def text_lengths(texts: Sequence[str], pairs: Sequence[str | None]) -> list[int]:
    """Lengths in characters, a pair's taken together: what is known before anything is encoded."""
    return [len(text) + len(pair or "") for text, pair in zip(texts, pairs, strict=True)]
