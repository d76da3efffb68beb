"""Work on long rows of numbers, a part of them in each thread: numpy's loops need no Python."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
LEAST = 2**15  # rows of a part: fewer are done before a thread has begun
MOST = 8  # threads


def in_parts(work: Callable[..., Array], *rows: Array) -> Array:
    """What `work` makes of rows, each for itself: … n of several arrays n. As many threads as torch
    uses take part."""
    import torch

    count = min(MOST, torch.get_num_threads(), len(rows[0]) // LEAST)
    if count < 2:
        return work(*rows)
    with ThreadPoolExecutor(count) as pool:
        parts = pool.map(work, *(np.array_split(of, count) for of in rows))
        return np.concatenate(list(parts), axis=-1)
