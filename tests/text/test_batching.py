"""Batches by length hold everything once, in order, within their room."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from headscope.text.batching import by_length, length_batches


@pytest.mark.parametrize("longest_first", [False, True])
def test_every_place_is_in_one_batch_and_no_batch_is_too_large(longest_first):
    lengths = np.random.default_rng(0).integers(1, 60, 200)
    groups = list(length_batches(lengths, 256, longest_first=longest_first))
    assert sorted(np.concatenate(groups).tolist()) == list(range(200))
    for group in groups:
        assert len(group) * lengths[group].max() <= 256
    for one, two in itertools.pairwise(groups):  # none could have taken one more
        more = [*one, two[0]]
        assert len(more) * lengths[more].max() > 256
    ordered = lengths[np.concatenate(groups)]
    assert (np.diff(-ordered if longest_first else ordered) >= 0).all()


def test_what_is_too_long_by_itself_is_alone_and_equal_lengths_keep_their_order():
    assert [g.tolist() for g in length_batches([500, 3, 3, 3], 9)] == [[1, 2, 3], [0]]
    assert by_length([2, 1, 2, 1]).tolist() == [1, 3, 0, 2]
    assert list(length_batches([], 9)) == []
