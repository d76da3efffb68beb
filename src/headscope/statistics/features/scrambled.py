"""A fixed number for every query of a corpus: a sample by it is the same in any order and split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def scrambled(
    documents: NDArray[np.int64], queries: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """In [0, 1), decided by the document, the query and the seed."""
    with np.errstate(over="ignore"):
        mixed = documents.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = mixed + queries.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03)
        mixed = mixed + np.uint64(seed) * np.uint64(0x94D049BB133111EB) + np.uint64(1)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
