"""Weights given back by a sink are what the model multiplies with its values."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from headscope.capture import Call, Output, capture
from headscope.capture.interface import apply
from tests.capture.recording import Recording, some_ids
from tests.tiny import tiny_model

MODELS = {
    "BERT": ("BertModel", {}),
    "Llama, grouped queries": ("LlamaModel", {"num_key_value_heads": 2}),
    "GPT-J": ("GPTJModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}),
    "DeBERTa": ("DebertaV2Model", {}),
}


@pytest.fixture(params=MODELS)
def model(request):
    name, options = MODELS[request.param]
    return tiny_model(name, **options)


def test_giving_back_the_own_weights_changes_nothing(model) -> None:
    ids = some_ids(batch=2)
    with torch.no_grad():
        expected = model(ids).last_hidden_state
        with capture(model, lambda call: call.weights.clone()):
            found = model(ids).last_hidden_state
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_replaced_weights_reach_the_output(model) -> None:
    ids = some_ids(batch=2)
    with torch.no_grad():
        plain = model(ids).last_hidden_state
        with capture(model, lambda call: torch.full_like(call.weights, 1 / 8)):
            uniform = model(ids).last_hidden_state
    assert (uniform - plain).abs().max() > 1e-3


def test_output_is_the_given_weights_times_the_values() -> None:
    """Against values projected by hand from the hidden states of the layer."""
    bert = tiny_model("BertModel", num_hidden_layers=1)
    given = torch.rand(1, 4, 8, 8).softmax(-1)
    attention = bert.encoder.layer[0].attention.self
    found: list[Tensor] = []
    handle = attention.register_forward_hook(lambda _, __, output: found.append(output[0]))
    with torch.no_grad(), capture(bert, Recording(given)):
        bert(some_ids())
        embedded = bert.embeddings(some_ids())
        value = attention.value(embedded).view(1, 8, 4, 8).transpose(1, 2)
    handle.remove()
    expected = (given @ value).transpose(1, 2).reshape(1, 8, 32)
    torch.testing.assert_close(found[0], expected)


def test_values_of_a_group_serve_all_its_heads() -> None:
    weights, value = torch.rand(2, 6, 5, 7), torch.rand(2, 3, 7, 4)
    expected = weights @ value.repeat_interleave(2, dim=1)
    torch.testing.assert_close(apply(weights, value), expected.transpose(1, 2))


def test_a_sink_may_compute_the_output_itself() -> None:
    bert = tiny_model("BertModel")
    given = torch.rand(1, 4, 8, 8).softmax(-1)

    def compute(call: Call) -> Output:
        assert call.v is not None
        return Output(apply(given, call.v))

    with torch.no_grad():
        with capture(bert, Recording(given)):
            expected = bert(some_ids()).last_hidden_state
        with capture(bert, compute, lazy=True):
            found = bert(some_ids()).last_hidden_state
    torch.testing.assert_close(found, expected)


LONGFORMER = {"attention_window": 4}
BIGBIRD = {
    "attention_type": "block_sparse",
    "block_size": 4,
    "num_random_blocks": 1,
    "max_position_embeddings": 128,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


@pytest.mark.parametrize("marks", [[], [0], [0, 5]], ids=str)
def test_longformer_mixes_given_weights_as_its_own(marks: list[int]) -> None:
    """Its own weights, made dense and given back, make the same output again."""
    longformer = tiny_model("LongformerModel", **LONGFORMER)
    ids = some_ids(12, batch=2)
    is_global = torch.zeros_like(ids)
    is_global[:, marks] = 1
    given = {"input_ids": ids, "global_attention_mask": is_global}
    with torch.no_grad():
        expected = longformer(**given).last_hidden_state
        with capture(longformer, lambda call: call.weights.clone()):
            found = longformer(**given).last_hidden_state
        with capture(longformer, lambda call: torch.full_like(call.weights, 1 / 12)):
            changed = longformer(**given).last_hidden_state
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert (changed - expected).abs().max() > 1e-3


def test_bigbird_mixes_given_weights_as_its_own() -> None:
    """In training mode random blocks avoid the others, so dense weights say everything."""
    bigbird = tiny_model("BigBirdModel", **BIGBIRD).train()
    ids = some_ids(64, batch=2)
    with torch.no_grad():
        expected = bigbird(ids).last_hidden_state
        with capture(bigbird, lambda call: call.weights.clone()):
            found = bigbird(ids).last_hidden_state
        with capture(bigbird, lambda call: torch.full_like(call.weights, 1 / 64)):
            changed = bigbird(ids).last_hidden_state
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert (changed - expected).abs().max() > 1e-3
