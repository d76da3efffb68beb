"""The fixed-offset baseline: the head of a word is the word `offset` words further on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

OFFSETS = (-3, -2, -1, 1, 2)  # what Clark et al. search; an offset of 0 is never right


def offset_hits(heads: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """offsets b w: whether the word `offset` further on is the head.

    As in Clark et al., a position before the sentence is the root, which is no word's head here,
    and one after it is the last word. `heads` is b w; `sizes` is the number of words of each
    sentence.
    """
    words = np.arange(heads.shape[1]) + np.array(OFFSETS)[:, None, None]
    return (np.minimum(words, (sizes - 1)[:, None]) == heads) & (words >= 0)
