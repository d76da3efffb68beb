"""Dynamic time warping: the cheapest way through a table that never goes back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput

Floats = NDArray[np.float64]


def warp(costs: Floats) -> NDArray[np.int64]:
    """The cheapest path from the first to the last cell of rows × columns, as (row, column) pairs.

    Each step goes one down, one to the right, or both; the cost of a path is that of its cells.
    """
    rows, columns = costs.shape
    if not rows or not columns:
        raise BadInput("There is nothing to warp: one side is empty.")
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0.0
    for diagonal in range(rows + columns - 1):  # cells of a diagonal do not depend on each other
        row = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        column = diagonal - row
        before = np.stack(
            [total[row, column], total[row, column + 1], total[row + 1, column]]
        )  # both, down, right
        total[row + 1, column + 1] = costs[row, column] + before.min(axis=0)
    return _back(total)


def _back(total: Floats) -> NDArray[np.int64]:
    """From the last cell to the first, always to the cheapest that comes before."""
    row, column = total.shape[0] - 1, total.shape[1] - 1
    path = [(row - 1, column - 1)]
    while (row, column) != (1, 1):
        steps = [(row - 1, column - 1), (row - 1, column), (row, column - 1)]
        row, column = min(steps, key=lambda cell: total[cell])
        path.append((row - 1, column - 1))
    return np.array(path[::-1], dtype=np.int64)


def first_columns(path: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """The first column that the path reaches in each row."""
    found = np.zeros(rows, dtype=np.int64)
    found[path[::-1, 0]] = path[::-1, 1]
    return found
