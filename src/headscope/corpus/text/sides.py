"""The tokens of a batch as arrays along one axis of its maps; without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.text.tokens import Tokens

PADDING = -1  # class, segment and word of a position that holds no token


def side_arrays(tokens: Sequence[Tokens], width: int) -> dict[str, NDArray[Any]]:
    """The tokens of a batch, padded on the right to `width` positions, by the names of a side."""
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    held = np.arange(width) < lengths[:, None]

    def padded(name: str, dtype: Any, padding: int) -> NDArray[Any]:
        array = np.full(held.shape, padding, dtype=dtype)
        array[held] = np.concatenate([getattr(of_row, name) for of_row in tokens])
        return array

    known = all((of_row.ids != -1).all() for of_row in tokens)
    return {
        "ids": padded("ids" if known else "comparable_ids", np.int64, 0),
        "classes": padded("classes", np.int8, PADDING),
        "segments": padded("segments", np.int8, PADDING),
        "words": padded("word_ids", np.int32, -1),
        "stops": padded("stops", np.bool_, 0),
    }
