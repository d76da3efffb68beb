"""How the counts of an atlas are added up, cut and judged, against plain loops."""

from __future__ import annotations

import gc
from collections import Counter

import numpy as np
import pytest
import torch

from headscope.runs import in_parts, uncollected
from headscope.statistics.places.counts import CountTable, _most_frequent
from headscope.statistics.significance import holm, holm_clear


def table(codes, chance):
    made = CountTable()
    made.add(np.array(codes, dtype=np.int64), chance.random(len(codes)))
    return made


def sums(*tables):
    """Of every code what all tables hold."""
    found = {}
    for one in tables:
        for code, *rest in zip(one.codes, one.count, one.weight, one.square, strict=True):
            found[int(code)] = np.add(found.get(int(code), 0), rest).tolist()
    return {code: found[code] for code in sorted(found)}


@pytest.mark.parametrize(
    ("one", "two"),
    [([5, 1, 5], [2, 9, 5]), ([], [3, 1]), ([3, 1], []), ([4, 2], [2, 4]), ([7], [1, 2])],
)
def test_merged_tables_hold_the_sums_of_both_and_leave_the_other_as_it_was(one, two):
    chance = np.random.default_rng(0)
    mine, theirs = table(one, chance), table(two, chance)
    wanted, other = sums(mine, theirs), sums(theirs)
    mine.merge(theirs)
    assert sums(mine) == wanted and mine.codes.tolist() == list(wanted)
    assert sums(theirs) == other


@pytest.mark.parametrize("largest", [3, 1000])  # counts below and above how many there are
def test_the_most_frequent_are_kept_and_of_equal_ones_the_first(largest):
    count = np.random.default_rng(1).integers(1, largest + 1, 40)
    for most in (1, 13, 39):
        order = sorted(range(40), key=lambda at: (-count[at], at))[:most]
        assert np.flatnonzero(_most_frequent(count, most)).tolist() == sorted(order)


def test_what_is_clear_is_what_the_whole_correction_says():
    chance = np.random.default_rng(2)
    for share in (0, 0.3, 1):
        p = np.where(chance.random(500) < share, chance.random(500) ** 9, chance.random(500))
        p[::7] = p[0]  # ties
        np.testing.assert_array_equal(holm_clear(p, 0.05), holm(p) <= 0.05)


def test_rows_in_parts_are_those_in_one_piece(monkeypatch):
    monkeypatch.setattr(in_parts, "LEAST", 10)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    one, other = np.random.default_rng(3).random((2, 101))
    seen = Counter()

    def work(a, b):
        seen[len(a)] += 1
        return np.stack([a / b, a - b])

    np.testing.assert_array_equal(in_parts.in_parts(work, one, other), [one / other, one - other])
    assert seen == {34: 2, 33: 1}


def test_garbage_is_looked_for_again_afterwards():
    with pytest.raises(KeyError), uncollected():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()
