"""Work on long rows of numbers in several threads: numpy's loops need no Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Made = TypeVar("Made")
LEAST = 2**15  # rows of a part: fewer are done before a thread has begun
MOST = 8  # threads


def in_parts(work: Callable[..., Array], *rows: Array) -> Array:
    """What `work` makes of rows, each for itself: … n of several arrays n."""
    count = min(_threads(), len(rows[0]) // LEAST)
    if count < 2:
        return work(*rows)
    return np.concatenate(of_each(work, *(np.array_split(of, count) for of in rows)), axis=-1)


def of_each(work: Callable[..., Made], *items: Sequence[Any]) -> list[Made]:
    """What `work` makes of items, in their order; it is numpy's, not torch's, whose own threads
    would be as many again for each."""
    count = min(_threads(), len(items[0]))
    if count < 2:
        return list(map(work, *items))
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, *items))


def _threads() -> int:
    """As many as torch uses, which people set."""
    import torch

    return min(MOST, torch.get_num_threads())
