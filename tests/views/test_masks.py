"""Masks and biases travel in their shortest form, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.views.wire.container import Buffers
from headscope.views.wire.masks import describe_bias, describe_mask, distance_back

BACK = distance_back(6, 6)


@pytest.mark.parametrize(
    ("mask", "form"),
    [
        (None, "none"),
        (np.ones((6, 6), bool), "none"),
        (BACK >= 0, "causal"),
        ((BACK >= 0) & (BACK < 3), {"window": 3, "causal": True}),
        (np.abs(BACK) < 2, {"window": 2, "causal": False}),
        (distance_back(2, 6) >= 0, "causal"),
    ],
)
def test_a_mask_that_follows_a_rule_travels_as_the_rule(mask, form):
    buffers = Buffers()
    assert describe_mask(mask, "m", buffers) == form
    assert not buffers.packed


def test_any_other_mask_travels_as_bits():
    mask = BACK >= 0
    mask[4, 1] = False
    buffers = Buffers()
    assert describe_mask(mask, "m", buffers) == {"buffer": "m"}
    assert buffers.packed["m"].dtype == "bit"


def test_a_bias_of_the_distance_alone_travels_as_one_number_a_distance():
    by_distance = np.random.default_rng(0).normal(size=(2, 11)).astype(np.float32)
    dense = by_distance[:, np.arange(6)[None] - np.arange(6)[:, None] + 5]
    buffers = Buffers()
    assert describe_bias(dense, "b", buffers) == {"buffer": "b", "form": "relative"}
    assert buffers.packed["b"].shape == (2, 11)


def test_any_other_bias_travels_whole():
    bias = np.random.default_rng(0).normal(size=(2, 6, 6)).astype(np.float32)
    buffers = Buffers()
    assert describe_bias(bias, "b", buffers) == {"buffer": "b", "form": "dense"}
    assert describe_bias(None, "c", buffers) is None
