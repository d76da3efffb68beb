"""Which inputs mattered: held to what sums must come to, and to a model with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from tests.circuits.built import built_scope, copying_model
from tests.tiny import tiny_scope

TEXT = "i went to the store and bought a red"


@pytest.mark.parametrize("architecture", ["LlamaForCausalLM", "BertForMaskedLM"])
def test_integrated_gradients_sum_to_the_difference_they_explain(architecture: str) -> None:
    scope = tiny_scope(architecture)
    text = TEXT if architecture.startswith("Llama") else "i went to the [MASK] ."
    found = hs.circuits.inputs(
        scope, text, target="house", methods=["integrated_gradients"], orders=2
    )
    assert found.incomplete["integrated_gradients"] <= 0.01
    table = scope.model.get_input_embeddings()
    ids = scope.encode([text]).inputs["input_ids"]
    words = scope.encode([text]).tokens[0].content
    with torch.no_grad():
        plain = table(ids)
        without = plain.clone()
        without[0, words] = table.weight.mean(0)
        place = -1 if architecture.startswith("Llama") else 5
        house = scope.tokenizer.convert_tokens_to_ids("house")
        both = [scope.model(inputs_embeds=x).logits[0, place, house] for x in (plain, without)]
    whole = float(both[0] - both[1])
    assert found.scores["integrated_gradients"].sum() == pytest.approx(whole, rel=0.011)


def test_integrated_gradients_are_those_of_captum() -> None:
    """On the same way from the average word to the text, by the same quadrature."""
    captum = pytest.importorskip("captum.attr")
    from headscope.circuits.saliency.inputs import Embedded
    from headscope.circuits.saliency.methods import integrated_gradients

    given = Embedded(tiny_scope("LlamaForCausalLM"), TEXT, None, ("house", "tree"), None)
    ours, missing = integrated_gradients(given, steps=64)
    theirs = captum.IntegratedGradients(given.answers).attribute(
        given.own, baselines=given.baseline, n_steps=64, method="gausslegendre"
    )
    assert ours == pytest.approx(theirs.sum(-1)[0].detach().numpy(), abs=1e-4 * abs(ours).max())
    assert missing <= 0.01


def test_a_model_that_copies_names_the_token_it_copied() -> None:
    scope = built_scope(copying_model((1.0,)), "copies", bare=True)
    found = hs.circuits.inputs(scope, "cat dog mat red", target="dog", orders=40)
    for name in ("gradient_input", "integrated_gradients"):
        assert found.tokens[int(found.scores[name].argmax())] == "dog"
    assert found.tests["integrated_gradients"].area < found.tests["integrated_gradients"].random


def test_rollout_and_flow_are_shares_of_the_row_that_answers(tiny_gpt2) -> None:
    found = hs.circuits.inputs(tiny_gpt2, TEXT, orders=2)
    for name in ("rollout", "flow"):
        assert found.scores[name].sum() == pytest.approx(1.0, abs=1e-5)
        assert (found.scores[name] >= 0).all()
    assert set(found.table.columns) == {"token", *found.scores}


def test_with_one_layer_flow_and_rollout_are_the_same() -> None:
    scope = tiny_scope("GPT2LMHeadModel", n_layer=1)
    found = hs.circuits.inputs(scope, TEXT, methods=["rollout", "flow"], orders=1)
    assert np.allclose(found.scores["rollout"], found.scores["flow"], atol=1e-4)


def test_misuse_is_told_in_one_sentence(tiny_gpt2) -> None:
    with pytest.raises(hs.BadInput, match="no method"):
        hs.circuits.inputs(tiny_gpt2, TEXT, methods=["magic"])
