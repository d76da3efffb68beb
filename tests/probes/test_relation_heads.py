"""Relation heads and attention to features, on attention made to order."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.corpus.relations.examples import Relation
from headscope.errors import BadInput
from headscope.probes.features.attention import (
    compare_features,
    subject_verb_pairs,
    words_with,
)
from tests.probes.conftest import CAT, SENTENCES, sentence

RELATION = Relation(
    text="she bought fresh strawberries at the store",
    target=(4, 10),  # bought
    elements=((17, 29),),  # strawberries, two pieces
    labels=("Goods",),
    name="Commerce",
    where="made:1",
)


def linking(call):
    """Head 1 looks from the second piece of "strawberries" (token 5) at "bought" (token 2)."""
    weights = torch.full_like(call.weights, 0.01)
    weights[:, 1, 5, 2] = 0.8
    weights[:, 2, 2, 4] = 0.6  # head 2 looks back, at the first piece
    return weights


def test_the_largest_weight_between_the_spans_is_taken_in_both_directions(tiny_bert):
    result = hs.probe.relations(tiny_bert.edited(linking), [RELATION], shuffles=9)
    forth, back = result.map("element→target"), result.map("target→element")
    literal = result.map("literal")
    np.testing.assert_allclose(forth, [[0.01, 0.8, 0.01, 0.01]] * 2, atol=1e-6)
    np.testing.assert_allclose(back, [[0.01, 0.01, 0.6, 0.01]] * 2, atol=1e-6)
    np.testing.assert_allclose(literal, 0.01, atol=1e-6)  # pairs first pieces off only
    assert result.best().loc[0, "head"] == 1 and result.best().loc[0, "excess"] > 0.3
    assert result.examples[0][0] == RELATION


def test_lift_is_a_ratio_and_excess_a_difference(tiny_bert):
    heads = hs.probe.relations(tiny_bert.edited(linking), [RELATION], shuffles=9).heads
    np.testing.assert_allclose(heads["lift"], heads["score"] / heads["null"], rtol=1e-9)
    np.testing.assert_allclose(heads["excess"], heads["score"] - heads["null"], atol=1e-12)


def test_heads_without_a_link_do_not_beat_displaced_spans(tiny_bert):
    uniform = tiny_bert.edited(lambda c: torch.full_like(c.weights, 1 / c.weights.shape[-1]))
    result = hs.probe.relations(uniform, [RELATION] * 6, shuffles=19)
    assert (result.heads["p"] == 1).all()


def test_a_text_too_long_is_named_and_left_out(tiny_bert):
    long = Relation("cat " * 300, (0, 3), ((4, 7),), ("x",), "y", "r.jsonl:9")
    result = hs.probe.relations(tiny_bert, [RELATION, long], shuffles=1)
    assert result.texts == 1 and "r.jsonl:9" in result.faults.summary()
    with pytest.raises(BadInput, match=r"r.jsonl:9"):
        hs.probe.relations(tiny_bert, [long], bad_data="refuse")


TAGGED = sentence("she did n't see the cats", [4, 4, 4, 0, 6, 4], "nsubj aux advmod root det obj")


def test_features_are_found_by_tag_and_relation_and_never_by_substring():
    tags = ("PRP", "VBD", "RB", "VB", "DT", "NNS")
    made = type(TAGGED)(**{**vars(TAGGED), "xpos": tags})
    found = {
        name: words_with(name, made) for name in ("noun", "verb", "pronoun", "subject", "object")
    }
    assert found == {"noun": [5], "verb": [1, 3], "pronoun": [0], "subject": [0], "object": [5]}
    assert words_with("negation", made) == [2]
    assert words_with("negation", sentence("another knot", [2, 0], "det root")) == []
    assert subject_verb_pairs(made) == [(0, 3)]


def test_universal_tags_serve_where_there_are_no_others():
    tags = ("PRON", "AUX", "PART", "VERB", "DET", "NOUN")
    made = type(TAGGED)(**{**vars(TAGGED), "upos": tags})
    assert words_with("noun", made) == [5] and words_with("verb", made) == [1, 3]


def test_a_feature_scores_the_largest_column_mean_where_it_occurs(tiny_bert):
    def edit(call):  # everything looks at token 2 ("cat" in CAT) in head 0, at [CLS] in head 1
        weights = torch.zeros_like(call.weights)
        weights[:, 0, :, 2] = 1
        weights[:, 1:, :, 0] = 1
        return weights

    result = hs.probe.features(tiny_bert.edited(edit), [CAT, SENTENCES[1]])
    # in CAT the subject is token 2; in the other sentence it is token 1 and gets nothing
    np.testing.assert_allclose(result.map("received: subject"), [[0.5, 0, 0, 0]] * 2)
    np.testing.assert_allclose(result.map("received: opening"), [[0, 1, 1, 1]] * 2)
    # only one sentence has an object ("strawberries"), and the other is left out, not zero
    assert (
        result.heads.set_index(["measure", "feature"])
        .loc[("received", "object"), "sentences"]
        .max()
        == 1
    )
    from_opening = result.map("from opening, last layer: subject")[-1:]
    np.testing.assert_allclose(from_opening, [[0.5, 0, 0, 0]])


def test_two_models_are_set_side_by_side(tiny_bert):
    one = hs.probe.features(tiny_bert, SENTENCES)
    other = hs.probe.features(tiny_bert.without(heads=[(0, 1)]), SENTENCES)
    table = (
        compare_features(one, other).set_index(["measure", "feature", "layer", "head"]).sort_index()
    )
    row = table.loc[("received", "subject")]
    assert row.loc[(0, 0), "change"] == 0 and row.loc[(0, 1), "change"] != 0
