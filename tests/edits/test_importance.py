"""Gate slopes are true derivatives, and agree with what disabling does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.capture import capture
from headscope.edits.ablate import ablate, agreement
from headscope.edits.importance import Importance, importance
from headscope.edits.live import effect, important_heads
from headscope.edits.pruning import prune
from headscope.errors import BadInput
from headscope.tasks.metrics import METRICS
from headscope.tasks.questions import make_questions
from headscope.tasks.task import labelled_task, language_task
from tests.edits.test_sweep import PAIRS, TEXTS
from tests.tiny import tiny_scope


@pytest.fixture(scope="module")
def bert():
    return tiny_scope("BertForSequenceClassification", num_labels=2, num_hidden_layers=3)


@pytest.fixture(scope="module")
def questions(bert):
    task = labelled_task("toy", TEXTS * 8, PAIRS * 8, ["a", "b", "a", "b", "b"] * 8)
    return make_questions(bert, task, batch_size=8)


def loss_with_gate(scope, inputs, targets, losses, layer, head, gate):
    def scale(call):
        if call.layer != layer:
            return None
        weights = call.weights.clone()
        weights[:, head] *= gate
        return weights

    with torch.no_grad(), capture(scope.model, scale):
        return losses(scope.model(**inputs), targets).double().numpy()


def test_a_slope_is_the_derivative_of_the_loss_by_the_gate(bert, questions):
    inputs, targets = questions.batches[0]
    one = dataclasses.replace(questions, batches=questions.batches[:1])
    found = importance(bert, one)
    for layer, head in [(0, 1), (1, 3), (2, 0)]:
        above, below = (
            loss_with_gate(bert, inputs, targets, questions.losses, layer, head, gate)
            for gate in (1.01, 0.99)
        )
        slopes = (above - below) / 0.02
        assert found.size[layer, head] == pytest.approx(np.abs(slopes).mean(), rel=0.02, abs=1e-4)
        assert found.slope[layer, head] == pytest.approx(slopes.mean(), rel=0.02, abs=1e-4)


def test_the_size_per_token_is_at_least_the_size_per_text(bert, questions):
    """|sum| ≤ sum of |·|: tokens that pull in opposite directions cancel only within a text."""
    whole = importance(bert, questions)
    tokens = importance(bert, questions, per="token")
    lengths = np.mean([int(inputs["attention_mask"].sum()) / 8 for inputs, _ in questions.batches])
    assert (tokens.size * lengths >= whole.size - 1e-6).all()
    np.testing.assert_allclose(tokens.slope * lengths, whole.slope, rtol=0.2, atol=1e-3)


def test_layers_are_scaled_to_unit_length(bert, questions):
    found = importance(bert, questions)
    np.testing.assert_allclose((found.normalised**2).sum(axis=1), 1, rtol=1e-6)
    assert len(set(found.ranked())) == found.size.size
    assert list(found.heads.columns) == ["layer", "head", "importance", "normalised", "slope"]


def test_slopes_foretell_what_zeroing_small_heads_does(tiny_bert):
    """To first order, disabling a head by zero costs minus its slope."""
    task = language_task("text", TEXTS, "masked")
    weak = tiny_scope("BertForPreTraining")
    for layer in weak.model.bert.encoder.layer:  # heads that matter little: the expansion holds
        layer.attention.output.dense.weight.data *= 0.02
    asked = make_questions(weak, task, batch_size=5)
    found = importance(weak, asked)
    cost = ablate(weak, asked, what=("heads",), mode="zero", draws=10).head_map
    tokens = sum(int((targets != -100).sum()) for _, targets in asked.batches)
    foretold = -found.slope * len(asked) / tokens
    assert np.corrcoef(foretold.ravel(), cost.ravel())[0, 1] > 0.99


def test_agreement_is_a_rank_correlation_with_the_damage(bert, questions):
    disabled = ablate(bert, questions, what=("heads",), draws=10)
    lost = -disabled.head_map
    assert agreement(Importance("encoder", lost, lost), disabled) == pytest.approx(1)
    assert agreement(Importance("encoder", -lost, lost), disabled) == pytest.approx(-1)
    assert agreement(Importance("encoder", np.ones_like(lost), lost), disabled) == 0


def test_pruning_starts_at_the_baseline_and_ends_with_no_head(bert, questions):
    flat = dataclasses.replace(questions, metric=METRICS["accuracy"])
    for order in ("importance", "greedy", "random"):
        curve = prune(bert, flat, order=order, step=0.25)
        sizes = [len(heads) for heads in curve.disabled]
        assert sizes == [0, 3, 6, 9, 12]
        for fewer, more in zip(curve.disabled, curve.disabled[1:], strict=False):
            assert more[: len(fewer)] == fewer
        assert curve.scores[0] == ablate(bert, flat, what=("layers",), draws=10).baseline
    assert curve.table["share"].tolist() == [0, 0.25, 0.5, 0.75, 1.0]


def test_greedy_pruning_is_no_worse_than_random_where_it_chooses(bert, questions):
    greedy = prune(bert, questions, order="greedy", step=1 / 12, until=0.3)
    random = prune(bert, questions, order="random", step=1 / 12, until=0.3)
    assert greedy.scores[1] >= random.scores[1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"order": "loud"}, "no order 'loud'"),
        ({"mode": "loud"}, "no mode 'loud'"),
        ({"step": 0}, "shares from 0 to 1"),
        ({"until": 3}, "shares from 0 to 1"),
        ({"kind": "cross"}, "no cross attention"),
    ],
)
def test_misuse_of_pruning_is_one_sentence(bert, questions, options, sentence):
    with pytest.raises(BadInput, match=sentence):
        prune(bert, questions, **options)


def test_importance_is_averaged_over_examples_or_tokens_only(bert, questions):
    with pytest.raises(BadInput, match="per= is 'example' or 'token'"):
        hs.importance(bert, questions, per="word")


def test_switching_heads_off_changes_the_filled_in_word(tiny_bert):
    found = effect(tiny_bert, "the [MASK] sat on the mat", off=[(0, 1), (1, 2)], n=3)
    assert found.asked == "masked words" and found.positions == (2,)
    plain = tiny_bert.fill("the [MASK] sat on the mat", n=3)[0]
    assert [p.token for p in found.before[0]] == [p.token for p in plain]
    edited = tiny_bert.without(heads=[(0, 1), (1, 2)]).fill("the [MASK] sat on the mat", n=3)[0]
    assert [p.token for p in found.after[0]] == [p.token for p in edited]
    for seen, prediction in zip(found.after[0], edited, strict=True):
        assert seen.probability == pytest.approx(prediction.probability, abs=1e-6)
    assert found.divergence > 0 and found.note is None


def test_heads_of_several_kinds_are_switched_off_together(tiny_t5):
    """What follows the decoder's words, against the model called by hand."""
    off = [("encoder", 0, 1), ("decoder", 1, 2), ("cross", 0, 3)]
    found = effect(tiny_t5, "the cat sat on the mat", "a dog", off=off, n=3)
    assert found.asked == "next token" and found.divergence > 0
    source = tiny_t5.encode(["the cat sat on the mat"]).inputs
    target = tiny_t5.read("the cat sat on the mat", "a dog").parts["decoder"].query.ids
    inputs = {**source, "decoder_input_ids": torch.tensor(np.array([target]))}
    edited = tiny_t5
    for kind, layer, head in off:
        edited = edited.without(heads=[(layer, head)], kind=kind)
    for scope, said in ((tiny_t5, found.before), (edited, found.after)):
        expected = scope.forward(inputs).logits[0, -1].softmax(-1).topk(3).values
        assert [p.probability for p in said[0]] == pytest.approx(expected.tolist(), rel=1e-4)


def test_nothing_off_changes_nothing(tiny_gpt2, tiny_bert, bert):
    for scope, text, asked in [
        (tiny_gpt2, "the cat sat", "next token"),
        (bert, "the cat sat", "classes"),
        (tiny_bert, "the cat sat", "nothing"),
    ]:
        found = effect(scope, text)
        assert found.asked == asked and found.divergence == pytest.approx(0, abs=1e-6)
    pair = effect(tiny_bert, "the cat", "sat")
    assert pair.asked == "next sentence" and "[MASK]" in pair.note
    assert sum(p.probability for p in pair.before[0]) == pytest.approx(1)


def test_a_head_that_is_not_there_is_refused(tiny_bert):
    with pytest.raises(BadInput, match="no head 9"):
        effect(tiny_bert, "the [MASK]", off=[(0, 9)])


@pytest.mark.parametrize(
    ("name", "asked"),
    [("tiny_bert", "masked words"), ("tiny_llama", "next token"), ("tiny_t5", "next token")],
)
def test_important_heads_are_ranked_and_sum_to_one(name, asked, request):
    scope = request.getfixturevalue(name)
    text = "the [MASK] sat on the mat" if name == "tiny_bert" else "the cat sat"
    found = important_heads(scope, text)
    ranked = found.heads
    every = {
        (kind, layer, head)
        for kind in scope.kinds
        for layer in range(scope.layers[kind])
        for head in range(scope.heads[kind])
    }
    assert found.asked == asked
    assert len(ranked) == len(every) and {(w.kind, w.layer, w.head) for w in ranked} == every
    assert sum(w.share for w in ranked) == pytest.approx(1)
    assert [w.importance for w in ranked] == sorted((w.importance for w in ranked), reverse=True)
