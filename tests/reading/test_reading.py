"""A reading holds what the model attended to, whatever else was in the batch."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import BadInput
from headscope.reading import Reading
from tests.contracts.families import FAMILIES
from tests.contracts.family_models import build, inputs
from tests.tiny import tiny_model, tiny_scope, tiny_tokenizer

TEXTS = ["the cat sat on the mat .", "dog", "i bought fresh strawberries at the store ."]


def of_family(name: str) -> hs.Scope:
    return hs.load(build(next(one for one in FAMILIES if one.name == name)), tiny_tokenizer())


def own_attentions(scope: hs.Scope, text: str, pair: str | None = None) -> np.ndarray:
    """Straight from transformers: tokenizer and model as anyone would call them."""
    model = tiny_model(type(scope.model).__name__)
    model.set_attn_implementation("eager")
    names = ["input_ids", "attention_mask"]
    if "token_type_ids" in inspect.signature(model.forward).parameters:
        names.append("token_type_ids")
    encoded = tiny_tokenizer()(text, pair, return_tensors="pt")
    with torch.no_grad():
        output = model(**{name: encoded[name] for name in names}, output_attentions=True)
    return torch.stack(output.attentions)[:, 0].numpy()


@pytest.mark.parametrize("architecture", ["BertModel", "GPT2LMHeadModel", "DebertaV2ForMaskedLM"])
def test_a_reading_is_the_models_own_attention(architecture: str) -> None:
    scope = tiny_scope(architecture)
    for text, pair in ((TEXTS[0], None), (TEXTS[0], TEXTS[2])):
        reading = scope.read(text, pair)
        expected = own_attentions(scope, text, pair)
        np.testing.assert_allclose(reading.attention.values, expected, atol=1e-5)


def test_axes_are_named(tiny_bert: hs.Scope) -> None:
    attention = tiny_bert.read(TEXTS[0]).attention
    assert attention.dims == ("layer", "head", "query", "key")
    assert attention.shape == (2, 4, 9, 9)
    assert list(attention.coords["query_token"].values[:3]) == ["[CLS]", "the", "cat"]
    np.testing.assert_allclose(attention.sum("key"), 1, atol=1e-5)


@pytest.mark.parametrize(
    "fixture", ["tiny_bert", "tiny_gpt2", "tiny_llama", "tiny_gemma", "tiny_deberta", "tiny_t5"]
)
def test_a_batch_gives_the_same_as_single_texts(fixture: str, request) -> None:
    scope: hs.Scope = request.getfixturevalue(fixture)
    targets = ["the dog", "a", None] if scope.encoder_decoder else None
    together = scope.read_batch(TEXTS, targets=targets)
    for place, (text, reading) in enumerate(zip(TEXTS, together, strict=True)):
        alone = scope.read(text, target=targets[place] if targets else None)
        assert reading.tokens == alone.tokens
        assert reading.kinds == alone.kinds
        for kind in alone.kinds:
            one, other = reading.part(kind), alone.part(kind)
            np.testing.assert_allclose(one.attention, other.attention, atol=1e-5)
            for layer, expected in zip(one.layers, other.layers, strict=True):
                if expected.q is not None:
                    np.testing.assert_allclose(layer.q, expected.q, atol=1e-4)


@pytest.mark.parametrize(
    "fixture", ["tiny_bert", "tiny_gpt2", "tiny_llama", "tiny_gemma", "tiny_t5"]
)
def test_weights_can_be_computed_again_from_what_is_kept(fixture: str, request) -> None:
    """Padding in the batch, groups, windows and positional bias included."""
    scope: hs.Scope = request.getfixturevalue(fixture)
    for reading in scope.read_batch(TEXTS, keep=("weights", "q", "k")):
        for part in reading.parts.values():
            for layer in part.layers:
                np.testing.assert_allclose(layer.compute_weights(), layer.weights, atol=1e-4)


def test_q_and_k_alone_are_enough(tiny_gemma: hs.Scope) -> None:
    full, small = tiny_gemma.read(TEXTS[0]), tiny_gemma.read(TEXTS[0], keep=("q", "k"))
    assert small.part().layers[0].weights is None
    np.testing.assert_allclose(small.attention, full.attention, atol=1e-4)


def test_what_was_not_kept_is_asked_for_in_one_sentence(tiny_bert: hs.Scope) -> None:
    reading = tiny_bert.read(TEXTS[0], keep=())
    with pytest.raises(BadInput, match=r"read the text again with keep=\('q', 'k'\)"):
        _ = reading.attention


def test_values_are_kept_when_asked_for(tiny_llama: hs.Scope) -> None:
    layer = tiny_llama.read(TEXTS[0], keep=("v",)).part().layers[0]
    assert layer.v is not None
    assert layer.v.shape == (2, 9, 8)
    assert layer.weights is None


def test_only_the_layers_asked_for_are_kept(tiny_bert: hs.Scope) -> None:
    reading = tiny_bert.read(TEXTS[0], layers=[1])
    assert list(reading.attention.coords["layer"].values) == [1]
    expected = tiny_bert.read(TEXTS[0]).attention.sel(layer=[1])
    np.testing.assert_allclose(reading.attention, expected, atol=1e-6)
    with pytest.raises(BadInput, match="Layer 0 is not in this reading; it holds layers 1"):
        reading.part().layer(0)
    with pytest.raises(BadInput, match=r"There is no layer 2; .* has layers 0 to 1"):
        tiny_bert.read(TEXTS[0], layers=[2])


def test_a_family_that_counts_keys_twice_says_why_there_is_no_q() -> None:
    family = next(one for one in FAMILIES if one.name == "BigBird, block-sparse")
    given = {name: tensor[:1] for name, tensor in inputs(family).items()}
    part = hs.load(build(family), tiny_tokenizer()).read_inputs(given).part()
    assert part.layers[0].q is None
    assert part.why_no_qk is not None
    assert part.why_no_qk.endswith(".")


def test_encoder_decoder_readings_have_three_parts(tiny_t5: hs.Scope) -> None:
    reading = tiny_t5.read("the cat sat", target="a dog ran")
    assert reading.kinds == ("encoder", "decoder", "cross")
    assert reading.encoder.shape == (2, 4, 5, 5)
    assert reading.decoder.shape == (3, 4, 5, 5)
    assert reading.cross.shape == (3, 4, 5, 5)
    assert reading.part("decoder").query.spellings == ("[PAD]", "[CLS]", "a", "dog", "ran")
    assert reading.part("cross").key.spellings == reading.part("encoder").query.spellings
    assert reading.part("decoder").causal
    assert not reading.part("cross").causal
    upper = np.triu(np.ones((5, 5), dtype=bool), 1)
    assert not reading.decoder.values[..., upper].any()
    with pytest.raises(BadInput, match="has no cross attention; it has encoder"):
        tiny_scope("BertModel").read("cat").part("cross")


def test_parts_may_differ_in_depth_and_heads() -> None:
    scope = of_family("BART")
    assert scope.layers == {"encoder": 2, "decoder": 3, "cross": 3}
    assert scope.heads == {"encoder": 4, "decoder": 2, "cross": 2}
    first, second = scope.read_batch(["the cat", "a dog ran"], ["dog", "the house tree"])
    assert first.encoder.shape == (2, 4, 4, 4)
    assert first.cross.shape == (3, 2, 3, 4)
    assert second.cross.shape == (3, 2, 5, 5)


def test_pictures_are_read_patch_by_patch() -> None:
    vit = tiny_model("ViTModel", image_size=16, patch_size=8)
    scope = hs.load(vit)
    picture = torch.randn(1, 3, 16, 16)
    reading = scope.read_inputs({"pixel_values": picture})
    assert reading.tokens == ("[CLS]", "0,0", "0,1", "1,0", "1,1")
    vit.set_attn_implementation("eager")
    with torch.no_grad():
        own = vit(picture, output_attentions=True).attentions
    np.testing.assert_allclose(reading.attention, torch.stack(own)[:, 0], atol=1e-5)
    assert scope.read_inputs({"pixel_values": picture}, list("abcde")).tokens == tuple("abcde")
    with pytest.raises(BadInput, match="There are 2 token names, but the model reads 5 positions"):
        scope.read_inputs({"pixel_values": picture}, ["a", "b"])
    with pytest.raises(BadInput, match="one example"):
        scope.read_inputs({"pixel_values": picture.repeat(2, 1, 1, 1)})
    with pytest.raises(BadInput, match="has no tokenizer"):
        scope.read("a cat")


def test_a_model_that_pools_its_tokens_is_refused() -> None:
    with pytest.raises(BadInput, match=r"it pools them.*scope\.capture"):
        of_family("Funnel").read(TEXTS[0])


def test_a_reading_says_what_it_is(tiny_bert: hs.Scope) -> None:
    reading: Reading = tiny_bert.read(TEXTS[1])
    assert repr(reading) == (
        "<Reading of BertForPreTraining: encoder: 2 layers × 4 heads, 3 × 3 tokens>"
    )
    assert reading.texts == ("dog",)


def test_edits_show_in_the_reading_and_take_q_and_k_away(tiny_bert: hs.Scope) -> None:
    edited = tiny_bert.edited(lambda call: torch.full_like(call.weights, 0.25))
    reading = edited.read("the cat")
    np.testing.assert_allclose(reading.attention, 0.25)
    assert reading.part().layers[0].q is None, "these weights come from no q and k"
    assert tiny_bert.read("the cat").part().layers[0].q is not None
