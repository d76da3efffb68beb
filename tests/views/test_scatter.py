"""The scatter of heads: its points are the table's numbers, its labels the source's own."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from tests.views.decoding import Container

VALUES = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([[1, np.nan, 3], [4, 5, 6.0]])}


def numbers(data, name: str) -> np.ndarray:
    container = Container(data.container())
    column = next(c for c in container.header["table"]["columns"] if c["name"] == name)
    return container.array(column)


def test_the_points_are_the_numbers_that_were_given():
    view = hs.head_scatter(VALUES, x="a", y="b")
    for name, values in VALUES.items():
        np.testing.assert_array_equal(numbers(view.data, name), values)
    np.testing.assert_array_equal(numbers(view.data, "layer"), [[0, 0, 0], [1, 1, 1]])
    assert (view.state["x"], view.state["y"], view.state["colour"]) == ("a", "b", "layer")


def test_a_measure_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(BadInput, match="y='c' was not measured; choose one of a, b, layer, head"):
        hs.head_scatter(VALUES, y="c")


def test_heads_without_a_number_are_left_out_of_the_figure(tmp_path):
    view = hs.head_scatter(VALUES, x="a", y="b", size="a", heads=[(1, 0)])
    assert view.state["chosen"] == [3]
    for wrong in ([3], [(5, 0)], [(0, 3)]):
        with pytest.raises(BadInput, match="heads="):
            hs.head_scatter(VALUES, heads=wrong)
    dots = view.figure().axes[0].collections[0].get_offsets()
    assert len(dots) == 5
    assert view.save(tmp_path / "heads.svg").stat().st_size > 1000
