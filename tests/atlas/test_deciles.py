"""Deciles of a measure: examples lie in the one they are shown for, also where a head is sharp."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.atlas.bundled import bundled_atlas

HEAD = ["kind", "layer", "head", "measure"]


@pytest.fixture(scope="module", params=["tiny", "bundled"])
def tables(request):
    """Of uniform heads, whose values are nearly equal, and of trained ones, some of them sharp."""
    made = request.getfixturevalue("atlas") if request.param == "tiny" else bundled_atlas()
    examples = made.frame("examples").query("decile >= 0")
    return examples, made.frame("deciles"), made.description["settings"]["per_decile"]


def test_every_example_lies_within_the_printed_bounds_of_its_decile(tables):
    examples, deciles, _ = tables
    both = examples.merge(deciles, on=[*HEAD, "decile"], how="left")
    assert both["value"].between(both["low"], both["high"]).all()


def test_no_example_stands_in_two_deciles(tables):
    examples, *_ = tables
    assert not examples.duplicated([*HEAD, "document", "query"]).any()


def test_every_decile_that_is_listed_has_examples_and_they_rise(tables):
    examples, deciles, each = tables
    shown = examples.groupby([*HEAD, "decile"]).size()
    listed = deciles.set_index([*HEAD, "decile"]).index
    assert set(shown.index) == set(listed) and shown.max() == each
    ordered = deciles.sort_values([*HEAD, "decile"])
    same_head = ordered[HEAD].eq(ordered[HEAD].shift()).all(axis=1)
    assert (ordered["low"] >= ordered["high"].shift())[same_head].all()


def test_shares_say_where_values_tie(tables):
    _, deciles, _ = tables
    shares = deciles.groupby(HEAD)["share"]
    np.testing.assert_allclose(shares.sum(), 1)
    assert deciles["positions"].gt(0).all()


def test_ranks_not_ranges_make_deciles():
    """Values within a thousandth of each other are told apart; those that tie share a decile."""
    from headscope.atlas.example_tables import decile_of

    sharp = np.linspace(0.999, 1, 100, dtype=np.float32)
    tied = np.append(np.ones(90), np.linspace(0, 0.5, 10)).astype(np.float32)
    partly = np.where(np.arange(100) % 2, np.nan, np.arange(100)).astype(np.float32)
    found = decile_of(np.stack([sharp, tied, partly], 1))
    assert np.bincount(found[:, 0]).tolist() == [10] * 10
    assert set(found[:90, 1]) == {5} and set(found[90:, 1]) == {0}
    assert np.bincount(found[::2, 2]).tolist() == [5] * 10 and (found[1::2, 2] == -1).all()
