"""Dynamic time warping finds the cheapest of all paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from headscope.errors import BadInput
from headscope.reading.word_times import first_columns, warp

Path = tuple[tuple[int, int], ...]


def _paths(rows: int, columns: int) -> Iterator[Path]:
    """Every path, one by one."""
    if rows == 1 and columns == 1:
        yield ((0, 0),)
        return
    for down, right in ((1, 1), (1, 0), (0, 1)):
        if (rows > down and columns > right) or (rows, columns) == (down + 1, right + 1):
            if rows - down < 1 or columns - right < 1:
                continue
            for path in _paths(rows - down, columns - right):
                yield (*path, (rows - 1, columns - 1))


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (4, 1), (3, 5), (5, 4)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_path_is_cheaper(size: tuple[int, int], seed: int) -> None:
    costs = np.random.default_rng(seed).normal(size=size)
    best = min(sum(costs[cell] for cell in path) for path in _paths(*size))
    found = warp(costs)
    assert costs[found[:, 0], found[:, 1]].sum() == pytest.approx(best)
    assert tuple(found[0]) == (0, 0) and tuple(found[-1]) == (size[0] - 1, size[1] - 1)
    steps = np.diff(found, axis=0)
    assert (steps >= 0).all() and (steps <= 1).all() and steps.any(axis=1).all()


def test_rows_begin_where_the_cheap_blocks_begin() -> None:
    costs = np.ones((3, 12))
    for row, (start, end) in enumerate([(0, 3), (3, 8), (8, 12)]):
        costs[row, start:end] = 0
    assert first_columns(warp(costs), 3).tolist() == [0, 3, 8]


def test_an_empty_table_gets_a_sentence() -> None:
    with pytest.raises(BadInput, match="empty"):
        warp(np.zeros((0, 3)))
