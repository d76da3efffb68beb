"""A small decoder's induction head forms within the steps in which the loss bends."""

from __future__ import annotations

import numpy as np
import pytest

from training.bump import bend, bump


def test_the_bend_lies_between_a_tenth_and_nine_tenths_of_the_fall():
    steps = np.arange(0, 110, 10.0)
    losses = np.array([3, 3, 3, 2.9, 2.5, 1.5, 0.5, 0.1, 0, 0, 0])
    assert bend(steps, losses) == (30, 70)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_induction_head_changes_within_the_bend(seed, tmp_path):
    """Half a minute a seed: 1,000 steps of two layers, 41 checkpoints measured."""
    found = bump(seed, tmp_path)
    assert found.head[0] == 1  # induction takes a head of an earlier layer
    before = found.steps < found.change
    assert found.induction[before].mean() < 0.2 < 0.6 < found.induction[~before].mean()
    assert found.bend[0] <= found.interval[0] <= found.change <= found.interval[1] <= found.bend[1]
    assert found.bend[1] - found.bend[0] <= 0.35 * found.steps[-1]
