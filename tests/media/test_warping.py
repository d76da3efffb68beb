"""Dynamic time warping finds the cheapest of all paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from headscope.errors import BadInput
from headscope.reading.word_times import first_columns

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
def test_the_path_is_the_cheapest_of_all(size: tuple[int, int]) -> None:
    costs = np.random.default_rng(0).normal(size=(6, *size))
    for one, found in zip(costs, first_columns(costs), strict=True):
        best = min(_paths(*size), key=lambda path, one=one: sum(one[cell] for cell in path))
        expected = [min(column for row, column in best if row == at) for at in range(size[0])]
        assert found.tolist() == expected


def test_rows_begin_where_the_cheap_blocks_begin() -> None:
    costs = np.ones((3, 12))
    for row, (start, end) in enumerate([(0, 3), (3, 8), (8, 12)]):
        costs[row, start:end] = 0
    assert first_columns(costs).tolist() == [0, 3, 8]


def test_an_empty_table_gets_a_sentence() -> None:
    with pytest.raises(BadInput, match="empty"):
        first_columns(np.zeros((0, 3)))
