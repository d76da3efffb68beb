"""Disabling every head in turn, the shared way, gives what a full pass per head gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope.capture.stack import find_stack
from headscope.edits.ablate import single_edits
from headscope.edits.answers import answer, answer_each, answer_each_plainly, stack_of
from headscope.edits.disable import chosen_kind
from headscope.edits.modes import mode as find_mode
from headscope.edits.sweep.sweep import Sweep
from headscope.tasks.metrics import METRICS
from headscope.tasks.questions import Questions, make_questions, token_answers, token_losses
from headscope.tasks.task import labelled_task, language_task
from tests.tiny import tiny_scope

TEXTS = [
    "I went to the store.",
    "The cat sat on the mat and the dog ran to the red house.",
    "He said that it was one of the three.",
    "a tree in the green house",
    "she bought fresh strawberries",
]
PAIRS = ["at the store", "the dog ran", "it was one", "a red tree", "the store"]


def classification(scope):
    task = labelled_task("toy", TEXTS, PAIRS, ["a", "b", "a", "b", "b"])
    return make_questions(scope, task, batch_size=3)


def classifier(architecture, **options):
    return tiny_scope(architecture, num_labels=2, **options)


def agrees(scope, questions, kind=None, **options):
    kind = chosen_kind(scope, kind)
    edits = single_edits(scope.layer_numbers[kind], scope.heads[kind], ("heads", "layers"))
    swept = answer_each(scope, questions, edits, kind=kind, copies=3, **options)
    plain = answer_each_plainly(scope, questions, edits, kind=kind, **options)
    reach = max(1.0, float(np.abs(plain).max()))
    np.testing.assert_allclose(swept.edited, plain, atol=2e-5 * reach)
    np.testing.assert_allclose(swept.baseline, answer(scope, questions), atol=2e-5 * reach)
    # an edit that changes nothing would make the agreement empty
    assert np.abs(plain - swept.baseline).max() > 1e-3
    return swept


CLASSIFIERS = {
    "BertForSequenceClassification": {"num_hidden_layers": 3},
    "RobertaForSequenceClassification": {},
    "DistilBertForSequenceClassification": {
        "dim": 32,
        "n_layers": 2,
        "n_heads": 4,
        "hidden_dim": 64,
    },
    "ElectraForSequenceClassification": {},
    "GPT2ForSequenceClassification": {},
    "LlamaForSequenceClassification": {"num_key_value_heads": 2, "num_hidden_layers": 3},
    "ModernBertForSequenceClassification": {"num_hidden_layers": 3},
    "DebertaV2ForSequenceClassification": {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
    },
}


@pytest.mark.parametrize("architecture", CLASSIFIERS)
def test_the_shared_way_equals_full_passes(architecture):
    scope = classifier(architecture, **CLASSIFIERS[architecture])
    assert agrees(scope, classification(scope)).shared


@pytest.mark.parametrize("mode", ["zero", "mean"])
def test_the_shared_way_equals_full_passes_in_every_mode(mode):
    scope = classifier("BertForSequenceClassification", num_hidden_layers=3)
    agrees(scope, classification(scope), mode=mode)


def test_a_model_that_repeats_one_layer_is_run_in_full_passes():
    scope = classifier("AlbertForSequenceClassification", embedding_size=16)
    assert not agrees(scope, classification(scope)).shared


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_gpt2", "tiny_llama", "tiny_gemma"])
def test_language_losses_are_shared_too(name, request):
    scope = request.getfixturevalue(name)
    kind = "masked" if name == "tiny_bert" else "next"
    questions = make_questions(scope, language_task("text", TEXTS, kind), batch_size=2)
    agrees(scope, questions)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_encoder_decoder_models_are_shared_in_each_kind_of_attention(tiny_t5, kind):
    batch, targets = tiny_t5.encode(TEXTS[:3]), tiny_t5.encode(PAIRS[:3])
    ids = targets.inputs["input_ids"]
    inputs = {
        "input_ids": batch.inputs["input_ids"],
        "attention_mask": batch.inputs["attention_mask"],
        "decoder_input_ids": ids,
    }
    wanted = ids.masked_fill(ids == 0, -100)
    questions = Questions(
        "translation",
        ((inputs, wanted),),
        token_answers,
        token_losses,
        np.zeros(3),
        METRICS["loss"],
    )
    assert agrees(tiny_t5, questions, kind=kind).shared


def test_a_scope_that_is_already_edited_keeps_its_edits():
    scope = classifier("BertForSequenceClassification", num_hidden_layers=3)
    agrees(scope.without(heads=[(0, 1), (2, 3)], mode="zero"), classification(scope))


@pytest.mark.parametrize(
    ("architecture", "looked"),
    [("BertForSequenceClassification", 1), ("GPT2ForSequenceClassification", 1)],
)
def test_the_last_layer_is_computed_only_where_the_answers_look(architecture, looked):
    scope = classifier(architecture)
    questions = classification(scope)
    stack = stack_of(scope, questions, scope.kinds[0])
    assert stack is not None
    inputs, _ = questions.batches[0]
    with Sweep(scope, stack, inputs, lambda out, _: out.logits, find_mode("zero")) as sweep:
        assert sweep.last is not None
        assert sweep.last.look.shape == (3, looked)


@pytest.mark.parametrize("read", [[-1], [1, -1]])
def test_words_are_scored_only_where_the_answers_look(tiny_llama, read):
    """Held to full passes too, whose logits are the model's own at these positions."""
    inputs = dict(tiny_llama.encode([TEXTS[1]]).inputs)
    calls = []
    tiny_llama.forward(inputs, calls.append)
    stack = find_stack(tiny_llama.model, "decoder", calls)
    assert stack is not None

    def answers(out, _):
        return out.logits[:, read].flatten(1)

    with Sweep(tiny_llama, stack, inputs, answers, find_mode("zero")) as sweep:
        swept = sweep.answers(0, [(0,), (2,)], 2)
    full = [answers(tiny_llama.without([(0, head)], mode="zero").forward(inputs), 1)
            for head in (0, 2)]  # fmt: skip
    torch.testing.assert_close(swept, torch.stack(full), atol=1e-4, rtol=1e-4)
    assert not torch.allclose(full[0], full[1], atol=1e-3)
    assert sweep._scored is not None and sweep._scored._look.shape == (1, len(read))


def test_layers_are_left_as_they_were_found():
    scope = classifier("BertForSequenceClassification")
    questions = classification(scope)
    before = answer(scope, questions)
    modules = {name: dict(module.__dict__) for name, module in scope.model.named_modules()}
    hooks = sum(len(module._forward_hooks) for module in scope.model.modules())
    agrees(scope, questions)
    assert hooks == sum(len(module._forward_hooks) for module in scope.model.modules())
    for name, module in scope.model.named_modules():
        assert module.__dict__.keys() == modules[name].keys()
    np.testing.assert_array_equal(before, answer(scope, questions))


def test_an_error_midway_leaves_the_model_usable():
    scope = classifier("BertForSequenceClassification")
    questions = classification(scope)
    before = answer(scope, questions)
    stack = stack_of(scope, questions, "encoder")
    inputs, _ = questions.batches[0]

    def fails(call, weights):
        raise RuntimeError("on purpose")

    with (
        pytest.raises(RuntimeError, match="on purpose"),
        Sweep(scope, stack, inputs, lambda out, _: out.logits, fails) as sweep,
    ):
        sweep.answers(0, [(0,)], 1)
    np.testing.assert_array_equal(before, answer(scope, questions))
    assert "forward" not in scope.model.bert.encoder.layer[0].__dict__
    assert torch.is_grad_enabled()
