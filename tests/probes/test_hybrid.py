"""Layers without attention have no heads: none is listed, none is chosen, none scores 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.corpus.coreference.corpus import CoreferenceCorpus
from headscope.corpus.relations.corpus import Relations
from headscope.corpus.sample import RELATIONS, STORIES
from headscope.corpus.treebanks.treebank import Treebank
from headscope.edits.ablate import ablate
from headscope.edits.importance import importance
from headscope.edits.pruning import prune
from headscope.tasks.questions import make_questions
from tests.capture.test_layer_numbers import HYBRIDS
from tests.finetuning.test_finetune import colours
from tests.tiny import tiny_scope

ATTENDING = (1, 3)
TREES = list(Treebank(STORIES))[:8]
TEXTS = [" ".join(sentence.words) for sentence in TREES]


def all_heads(scope: hs.Scope) -> Any:
    parts = TREES[4:], TREES[:2], TREES[2:4]
    probes = ("attention", "random weights")
    return hs.probe.all_heads(scope, *parts, probes=probes, vectors="embeddings", epochs=1)


PROBES: dict[str, Callable[[hs.Scope], Any]] = {
    "dependency": lambda scope: hs.probe.dependency(scope, TREES, minimum=3),
    "coreference": lambda scope: hs.probe.coreference(scope, CoreferenceCorpus(STORIES), limit=9),
    "relations": lambda scope: hs.probe.relations(scope, Relations(RELATIONS), shuffles=3, limit=6),
    "features": lambda scope: hs.probe.features(scope, TREES),
    "all heads": all_heads,
    "compare": lambda scope: hs.compare(scope, scope, TEXTS, statistics=["entropy"]),
    "retrieval": lambda scope: hs.circuits.named(scope, ["retrieval"], n=3),
    "survey": lambda scope: hs.survey(scope, TEXTS, ["entropy", "previous_word"], progress=False),
}


@pytest.fixture(scope="module")
def jamba() -> hs.Scope:
    return tiny_scope("JambaForCausalLM", num_key_value_heads=2, **HYBRIDS["JambaForCausalLM"][0])


@pytest.mark.parametrize("probe", PROBES)
def test_layers_without_attention_are_left_out_of_every_table(probe, jamba):
    found = PROBES[probe](jamba)
    assert set(found.table["layer"].dropna()) == set(ATTENDING)
    values = found.map(found.measures[0])
    assert np.isnan(values[[0, 2]]).all() and np.isfinite(values[list(ATTENDING)]).all()
    chosen = getattr(found, "summary", None)
    if chosen is not None and "layer" in chosen:
        assert set(chosen["layer"].dropna()) <= set(ATTENDING)


def test_the_importance_of_heads_is_known_where_there_are_heads():
    sizes = HYBRIDS["JambaForCausalLM"][0]
    scope = tiny_scope("JambaForSequenceClassification", num_key_value_heads=2, **sizes)
    task = make_questions(scope, colours(8, 1), batch_size=4)
    weighed = importance(scope, task, progress=False)
    assert set(weighed.table["layer"]) == set(ATTENDING)
    assert sorted(weighed.ranked()) == [(layer, head) for layer in ATTENDING for head in range(4)]
    pruned = prune(scope, task, order="importance", step=0.5, progress=False)
    assert {layer for layer, _ in pruned.disabled[-1]} == set(ATTENDING)
    answered = ablate(scope, task, progress=False)
    assert set(answered.table["layer"]) == set(ATTENDING)


def test_the_percentile_of_a_relation_counts_heads_that_are_there(jamba):
    """The best of eight heads is above seven of them, not above fifteen of sixteen."""
    heads = PROBES["relations"](jamba).heads
    one = heads[heads["variant"] == heads["variant"].iloc[0]]
    assert one["percentile"].max() == pytest.approx(100 * 7 / 8)
