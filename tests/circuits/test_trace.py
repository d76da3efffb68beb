"""A prediction followed backwards, in a circuit whose steps are known."""

from __future__ import annotations

import json

import pytest

import headscope as hs
from headscope.errors import BadInput
from tests.circuits.built import built_scope, induction_model

TEXT = "dog the cat sat the"  # the answer is "cat", which followed the first "the"


@pytest.fixture(scope="module")
def traced():
    scope = built_scope(induction_model(), "induction", bare=True)
    return hs.circuits.trace(scope, TEXT, target="cat", most_heads=1, writers=1, depth=2)


def test_the_answer_comes_through_the_induction_head_from_the_word_it_copies(traced):
    steps = {(one.source, one.target): one for one in traced.steps}
    assert steps["1-0 at 4", "answer"].link == "logit"
    assert steps["word 2", "1-0 at 4"].value == pytest.approx(1.0, abs=1e-3)
    assert steps["embedding at 4", "1-0 at 4"].link == "query"
    assert steps["embedding at 4", "1-0 at 4"].share >= 0.95


def test_what_the_key_offers_is_followed_to_the_previous_word_head_and_its_word(traced):
    steps = {(one.source, one.target): one for one in traced.steps}
    assert steps["0-0 at 2", "1-0 at 4"].link == "key"
    assert steps["0-0 at 2", "1-0 at 4"].share >= 0.95
    assert steps["word 1", "0-0 at 2"].value == pytest.approx(1.0, abs=1e-3)


def test_a_trace_is_a_graph_for_others(traced, tmp_path):
    networkx = pytest.importorskip("networkx")
    traced.save(tmp_path / "trace.json")
    read = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    other = networkx.node_link_graph(read, edges="links")
    own = traced.networkx()
    assert set(own.nodes) == set(other.nodes) == {one.name for one in traced.nodes}
    assert networkx.has_path(own, "word 1", "answer")
    assert own.number_of_edges() == other.number_of_edges() == len(traced.steps)
    assert "attends to word 1 'the'" in str(traced)
    drawn = {one.get_text() for one in traced.plot().axes[0].texts}
    assert {f"{one.name} “{one.token}”" for one in traced.nodes} <= drawn
    with pytest.raises(BadInput, match=r"written as \.json"):
        traced.save(tmp_path / "trace.html")
