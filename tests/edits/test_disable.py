"""A disabled head does exactly what its mode says, and the model is none the worse for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.edits.modes import modes

TEXTS = ["I went to the store.", "The cat sat on the mat and the dog ran to the red house."]
T5_TARGETS = ["he said it", "the dog ran"]


def final_hidden(scope, batch):
    output = scope.forward(batch)
    return output["logits" if "logits" in output else "prediction_logits"]


def t5_batch(scope, texts=TEXTS):
    batch = scope.encode(texts)
    targets = scope.encode(T5_TARGETS)
    return {
        **{k: v for k, v in batch.inputs.items() if k != "token_type_ids"},
        "decoder_input_ids": targets.inputs["input_ids"],
        "decoder_attention_mask": targets.inputs["attention_mask"],
    }


def projection(scope, kind, layer):
    """The output projection of one layer's attention, and along which axis heads lie in it."""
    model = scope.model
    name = type(model).__name__
    if name.startswith("Bert"):
        return model.bert.encoder.layer[layer].attention.output.dense.weight, 1
    if name.startswith("GPT2"):
        return model.transformer.h[layer].attn.c_proj.weight, 0
    if name.startswith("Llama"):
        return model.model.layers[layer].self_attn.o_proj.weight, 1
    block = (model.encoder if kind == "encoder" else model.decoder).block[layer]
    part = block.layer[1].EncDecAttention if kind == "cross" else block.layer[0].SelfAttention
    return part.o.weight, 1


CASES = [
    ("tiny_bert", "encoder"),
    ("tiny_gpt2", "decoder"),
    ("tiny_llama", "decoder"),
    ("tiny_t5", "encoder"),
    ("tiny_t5", "decoder"),
    ("tiny_t5", "cross"),
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_zeroed_head_equals_its_columns_of_the_output_projection_zeroed(name, kind, request):
    scope = request.getfixturevalue(name)
    batch = t5_batch(scope) if name == "tiny_t5" else scope.encode(TEXTS)
    layer, head = 1, 2
    edited = final_hidden(scope.without(heads=[(layer, head)], mode="zero", kind=kind), batch)
    weight, axis = projection(scope, kind, layer)
    kept = weight.detach().clone()
    width = kept.shape[axis] // scope.heads[kind]
    with torch.no_grad():
        weight.narrow(axis, head * width, width).zero_()
        expected = final_hidden(scope, batch)
        weight.copy_(kept)
    plain = final_hidden(scope, batch)
    assert (edited - expected).abs().max() <= 1e-6 * max(1.0, float(expected.abs().max()))
    assert (edited - plain).abs().max() > 1e-3


def test_a_disabled_head_attends_uniformly_to_the_real_tokens(tiny_bert):
    readings = tiny_bert.without(heads=[(1, 2)]).read_batch(TEXTS)
    for reading, plain in zip(readings, tiny_bert.read_batch(TEXTS), strict=True):
        attention = reading.attention.values
        length = attention.shape[-1]
        assert (attention[1, 2] == np.float32(1 / length)).all()
        np.testing.assert_array_equal(attention[0], plain.attention.values[0])
        others = [0, 1, 3]
        np.testing.assert_allclose(
            attention[1, others], plain.attention.values[1, others], atol=1e-6
        )


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama"])
def test_a_disabled_head_of_a_causal_model_spreads_over_the_past_alone(name, request):
    scope = request.getfixturevalue(name)
    for reading in scope.without(layers=[0]).read_batch(TEXTS):
        attention = reading.attention.values[0]
        length = attention.shape[-1]
        for query in range(length):
            even = np.float32(1 / (query + 1))
            assert (attention[:, query, : query + 1] == even).all()
            assert (attention[:, query, query + 1 :] == 0).all()


def test_a_sliding_window_is_respected(tiny_gemma):
    attention = tiny_gemma.without(layers=[0]).read(TEXTS[1]).attention.values[0]
    assert set(np.unique((attention[:, -1] > 0).sum(axis=-1))) == {4}
    assert np.allclose(attention[:, -1].sum(axis=-1), 1)


def test_a_family_read_at_its_softmax_is_disabled_alike(tiny_deberta):
    for reading in tiny_deberta.without(heads=[(0, 1)]).read_batch(TEXTS):
        attention = reading.attention.values[0, 1]
        assert np.allclose(attention, 1 / attention.shape[-1], atol=1e-7)


@pytest.mark.parametrize("mode", [mode for mode in modes() if mode != "given"])
@pytest.mark.parametrize("name", ["tiny_bert", "tiny_llama", "tiny_deberta"])
def test_every_mode_leaves_the_model_bit_identical_afterwards(name, mode, request):
    scope = request.getfixturevalue(name)
    batch = scope.encode(TEXTS)
    state = {key: value.clone() for key, value in scope.model.state_dict().items()}
    settings = scope.model.config._attn_implementation
    before = final_hidden(scope, batch)
    # these texts are short
    needed = {"streaming": (1, 2), "emphasis": ((1, 2), 4.0), "weight": ((2, 1, 0.9),)}.get(mode)
    during = final_hidden(scope.without(heads=[(0, 1)], mode=mode, weights=needed), batch)
    after = final_hidden(scope, batch)
    assert not torch.equal(before, during)
    assert torch.equal(before, after)
    assert scope.model.config._attn_implementation == settings
    assert all(torch.equal(value, state[key]) for key, value in scope.model.state_dict().items())


@pytest.mark.parametrize("mode", ["uniform", "mean"])
@pytest.mark.parametrize("name", ["tiny_bert", "tiny_gpt2", "tiny_gemma", "tiny_deberta"])
def test_replaced_rows_still_sum_to_one(name, mode, request):
    scope = request.getfixturevalue(name)
    for reading in scope.without(layers=[0], mode=mode).read_batch(TEXTS):
        np.testing.assert_allclose(reading.attention.values[0].sum(axis=-1), 1, atol=1e-5)


def test_padding_does_not_change_what_a_disabled_head_does(tiny_bert):
    for mode in ("uniform", "zero", "mean"):
        scope = tiny_bert.without(heads=[(0, 1), (1, 3)], mode=mode)
        alone = scope.read(TEXTS[0]).attention.values
        padded = scope.read_batch(TEXTS)[0].attention.values
        np.testing.assert_allclose(alone, padded, atol=1e-6)


def test_the_mean_row_of_a_text_replaces_every_row(tiny_bert):
    plain = tiny_bert.read(TEXTS[1]).attention.values[0, 1]
    edited = tiny_bert.without(heads=[(0, 1)], mode="mean").read(TEXTS[1]).attention.values[0, 1]
    np.testing.assert_allclose(edited, np.tile(plain.mean(axis=0), (len(plain), 1)), atol=1e-6)


def test_the_mean_over_reference_readings_is_by_position(tiny_bert):
    reference = tiny_bert.read_batch(["the cat sat on the mat", "a dog ran in the red house"])
    maps = [reading.attention.values[0, 1] for reading in reference]
    scope = tiny_bert.without(heads=[(0, 1)], mode="mean", weights=reference)
    text = "he went to the store"
    edited = scope.read(text).attention.values[0, 1]
    length = len(edited)
    mean = np.mean([found[:length, :length] for found in maps], axis=0)
    np.testing.assert_allclose(edited, mean / mean.sum(axis=-1, keepdims=True), atol=1e-6)


def test_weights_can_be_given(tiny_bert):
    length = len(tiny_bert.read(TEXTS[0]).tokens)
    first = np.zeros((length, length), dtype=np.float32)
    first[:, 0] = 1
    edited = tiny_bert.without(heads=[(1, 0)], weights=first).read(TEXTS[0]).attention.values
    np.testing.assert_array_equal(edited[1, 0], first)
    made = tiny_bert.without(heads=[(1, 0)], weights=lambda call: call.weights.flip(-1))
    plain = tiny_bert.read(TEXTS[0]).attention.values
    np.testing.assert_allclose(
        made.read(TEXTS[0]).attention.values[1, 0], plain[1, 0, :, ::-1], atol=1e-6
    )


def test_edits_compose_in_the_order_they_were_made(tiny_bert):
    both = tiny_bert.without(heads=[(0, 1)]).without(heads=[(0, 1), (1, 2)], mode="zero")
    attention = both.read(TEXTS[0]).attention.values
    assert (attention[0, 1] == 0).all() and (attention[1, 2] == 0).all()
    at_once = tiny_bert.without(heads=[(0, 1), (1, 2)], mode="zero").read(TEXTS[0])
    np.testing.assert_allclose(attention, at_once.attention.values, atol=1e-7)
    apart = tiny_bert.without(layers=[0]).without(heads=[(1, 2)]).read(TEXTS[0])
    together = tiny_bert.without(layers=[0], heads=[(1, 2)]).read(TEXTS[0])
    np.testing.assert_array_equal(apart.attention.values, together.attention.values)


def test_generation_runs_under_edits(tiny_gpt2):
    edited = tiny_gpt2.without(layers=[0]).generate("the cat sat", max_new_tokens=3)
    attention = edited.attention.values[0]
    length = attention.shape[-1]
    assert np.allclose(attention[:, -1], 1 / length, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"heads": [(9, 0)]}, "no encoder layer 9"),
        ({"heads": [(0, 4)]}, "There is no head 4; layer 0 has heads 0 to 3"),
        ({"heads": [(0, -1)]}, "no head -1"),
        ({"heads": [3]}, "as (layer, head)"),
        ({"layers": [2]}, "no encoder layer 2"),
        ({"layers": [0], "kind": "cross"}, "no cross attention"),
        ({"layers": [0], "mode": "shuffle"}, "no mode 'shuffle'"),
        ({"layers": [0], "mode": "given"}, "Pass the weights"),
        ({}, "Say what to disable"),
    ],
)
def test_what_cannot_be_disabled_is_refused_in_one_sentence(tiny_bert, options, sentence):
    with pytest.raises(hs.BadInput, match=r"^[^\n]+$") as caught:
        tiny_bert.without(**options)
    assert sentence in str(caught.value)


def test_given_weights_of_the_wrong_shape_are_refused(tiny_bert):
    with pytest.raises(hs.BadInput, match="does not fit"):
        tiny_bert.without(heads=[(0, 0)], weights=np.ones((3, 3))).read(TEXTS[0])


@pytest.mark.slow
def test_a_real_model_is_disabled_the_same_way(minilm, tmp_path: Path):
    scope = minilm.without(heads=[(2, 5)], mode="zero")
    batch = minilm.encode(TEXTS)
    edited = scope.forward(batch).last_hidden_state
    weight = minilm.model.encoder.layer[2].attention.output.dense.weight
    kept = weight.detach().clone()
    width = kept.shape[1] // 12
    with torch.no_grad():
        weight[:, 5 * width : 6 * width] = 0
        expected = minilm.forward(batch).last_hidden_state
        weight.copy_(kept)
    assert (edited - expected).abs().max() < 1e-5


def test_a_survey_of_an_edited_scope_measures_the_edit(tiny_bert, tiny_llama):
    texts = ["the cat sat on the mat", "the dog ran to the red house"]  # eight and nine tokens
    for scope in (tiny_bert, tiny_llama):
        lengths = [len(scope.read(text).tokens) for text in texts]
        if scope.causal:
            even = np.mean([np.mean(np.log(np.arange(1, n + 1))) for n in lengths])
        else:
            even = np.mean(np.log(lengths))
        found = hs.survey(scope.without(heads=[(1, 2)]), texts, statistics=["entropy"])
        assert found.map("entropy")[1, 2] == pytest.approx(even, rel=1e-3)
        plain = hs.survey(scope, texts, statistics=["entropy"])
        assert plain.map("entropy")[1, 2] < 0.95 * even
