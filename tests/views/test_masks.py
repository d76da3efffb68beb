"""Masks and biases travel in their shortest form, and mean the same."""

from __future__ import annotations

import pytest
import torch

from headscope.reading.weights.held import Bias, Mask
from headscope.views.wire.container import Buffers
from headscope.views.wire.layers import describe_bias, describe_mask

BACK = torch.arange(6)[:, None] - torch.arange(6)


@pytest.mark.parametrize(
    ("mask", "form"),
    [
        (None, "none"),
        (torch.ones(6, 6, dtype=torch.bool), "none"),
        (BACK >= 0, "causal"),
        ((BACK >= 0) & (BACK < 3), {"window": 3, "causal": True}),
        (BACK.abs() < 2, {"window": 2, "causal": False}),
        (BACK[4:] >= 0, "causal"),
    ],
)
def test_a_mask_that_follows_a_rule_travels_as_the_rule(mask, form):
    buffers = Buffers()
    assert describe_mask(Mask.of(mask), "m", buffers) == form
    assert not buffers.packed


def test_any_other_mask_travels_as_bits():
    mask = BACK >= 0
    mask[4, 1] = False
    buffers = Buffers()
    assert describe_mask(Mask.of(mask), "m", buffers) == {"buffer": "m"}
    assert buffers.packed["m"].dtype == "bit"


def test_a_bias_of_the_distance_alone_travels_as_one_number_a_distance():
    dense = torch.rand(2, 11)[:, 5 - BACK]
    buffers = Buffers()
    assert describe_bias(Bias.of(dense), "b", buffers) == {"buffer": "b", "form": "relative"}
    assert buffers.packed["b"].shape == (2, 11)


def test_any_other_bias_travels_whole():
    buffers = Buffers()
    sent = describe_bias(Bias.of(torch.rand(2, 6, 6)), "b", buffers)
    assert sent == {"buffer": "b", "form": "dense"}
    assert describe_bias(None, "c", buffers) is None
