"""Which lines a head view draws: the selected token's, else the strongest, as on the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_LINES = 2500  # enough for most of the mass of most heads
FAINTEST = {False: 0.005, True: 0.0006}  # weight below which a line is invisible; True: √ scale


@dataclass(frozen=True)
class Lines:
    positions: NDArray[np.intp]  # n 3: head (its rank among those shown), query, key; weakest first
    weights: NDArray[np.floating]  # n
    possible: int
    mass: float  # share of the possible lines' mass that is drawn

    def said(self) -> str:
        count = len(self.weights)
        if count == self.possible:
            return f"all {count:,} lines"
        return f"{count:,} of {self.possible:,} lines, {self.mass:.0%} of the mass"


def choose(
    weights: NDArray[np.floating],  # h t s
    *,
    minimum: float = 0.0,
    square_root: bool = False,
    query: int | None = None,
    key: int | None = None,
    allowed: NDArray[np.bool_] | None = None,  # t s
) -> Lines:
    """A pinned query's lines, or a pinned key's, or the one between the two, else the strongest."""
    queries, keys = weights.shape[1:]
    seen = np.ones((queries, keys), dtype=bool) if allowed is None else allowed.copy()
    if query is not None and key is not None:
        seen[:] = False
        seen[query, key] = True
    elif query is not None:
        seen &= np.arange(queries)[:, None] == query
    elif key is not None:
        seen &= np.arange(keys)[None, :] == key
    lowest = max(minimum, FAINTEST[square_root])
    drawn = np.argwhere((weights >= lowest) & seen)
    values = weights[tuple(drawn.T)]
    most = MOST_LINES if query is None and key is None else values.size
    order = np.argsort(values, kind="stable")[values.size - min(most, values.size) :]
    total = float((weights * seen).sum())
    mass = float(values[order].sum()) / total if total else 0.0
    return Lines(drawn[order], values[order], int(seen.sum()) * weights.shape[0], mass)
