"""Batches by length hold everything once, in order, within their room."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from headscope.text.batching import by_length, even_batches, length_batches


@pytest.mark.parametrize("batches", [length_batches, even_batches])
def test_every_place_is_in_one_batch_and_no_batch_is_too_large(batches):
    lengths = np.random.default_rng(0).integers(1, 60, 200)
    groups = list(batches(lengths, 256))
    assert sorted(np.concatenate(groups).tolist()) == list(range(200))
    for group in groups:
        assert len(group) * lengths[group].max() <= 256
    ordered = lengths[np.concatenate(groups)]
    assert (np.diff(ordered if batches is length_batches else -ordered) >= 0).all()


def test_no_batch_but_the_last_could_have_taken_one_more():
    lengths = np.random.default_rng(0).integers(1, 60, 200)
    for one, two in itertools.pairwise(length_batches(lengths, 256)):
        more = [*one, two[0]]
        assert len(more) * lengths[more].max() > 256


@pytest.mark.parametrize(("count", "most"), [(1440, 131_072), (580, 65_536), (2048, 131_072)])
def test_batches_are_few_and_none_is_a_small_rest(count, most):
    """1,440 windows as a megabyte of text gives them: 1,057 and 383 when each batch is filled."""
    lengths = np.where(np.arange(count) % 5 == 4, 84, 124)
    groups = even_batches(lengths, most)
    sizes = [len(group) * lengths[group].max() for group in groups]
    assert len(groups) == -(-int(lengths.sum()) // most)
    assert min(sizes) > 0.8 * max(sizes) and max(sizes) <= most


def test_what_is_too_long_by_itself_is_alone_and_equal_lengths_keep_their_order():
    assert [g.tolist() for g in length_batches([500, 3, 3, 3], 9)] == [[1, 2, 3], [0]]
    assert by_length([2, 1, 2, 1]).tolist() == [1, 3, 0, 2]
    assert list(length_batches([], 9)) == []
    assert [g.tolist() for g in even_batches([3, 500, 3, 3, 700], 9)] == [[4], [1], [0, 2, 3]]
    assert [g.tolist() for g in even_batches([3, 3, 3, 3], 9)] == [[0, 1], [2, 3]]
    assert even_batches([], 9) == []
