"""BertViz's documented examples, with the import changed and nothing else."""

from __future__ import annotations

import inspect
import json
import re

import numpy as np
import pytest
import torch

from headscope.bertviz import head_view, model_view, neuron_view
from headscope.errors import BadInput
from tests.tiny import tiny_scope, tiny_tokenizer

A, B = "the cat sat on the mat", "the cat ran to a tree"


def header(shown) -> dict:
    """The data of a page made with html_action='return'."""
    return json.loads(re.search(r"data-header>(.*?)</script>", shown.data, re.DOTALL)[1])


@pytest.fixture(scope="module")
def bert():
    model = tiny_scope("BertModel").model
    model.set_attn_implementation("eager")
    return model


def test_the_signatures_are_bertviz_s():
    """Names, order and defaults, as BertViz 1.4 documents them."""
    pair = "attention=None, tokens=None, sentence_b_start=None, prettify_tokens=True, "
    three = (
        "encoder_attention=None, decoder_attention=None, cross_attention=None, "
        "encoder_tokens=None, decoder_tokens=None, include_layers=None, "
    )
    expected = {
        head_view: f"{pair}layer=None, heads=None, {three}html_action='view'",
        model_view: f"{pair}display_mode='dark', {three}include_heads=None, html_action='view'",
        neuron_view.show: "model, model_type, tokenizer, sentence_a, sentence_b=None, "
        "display_mode='dark', layer=None, head=None, html_action='view'",
    }
    for function, signature in expected.items():
        parameters = inspect.signature(function).parameters.values()
        plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
        assert ", ".join(map(str, plain)) == signature


def test_a_bert_pair(bert):
    inputs = tiny_tokenizer()(A, B, return_tensors="pt")
    attention = bert(**inputs, output_attentions=True).attentions
    tokens = tiny_tokenizer().convert_ids_to_tokens(inputs["input_ids"][0])
    sentence_b_start = inputs["token_type_ids"][0].tolist().index(1)
    data = header(head_view(attention, tokens, sentence_b_start, html_action="return"))
    part = data["parts"][0]
    assert part["query"]["text"][1:3] == ["the", "cat"]
    assert part["query"]["segment"] == inputs["token_type_ids"][0].tolist()
    assert part["heads"] == 4 and part["layers"] == [0, 1]


def test_a_layer_and_heads_may_be_chosen(bert):
    inputs = tiny_tokenizer()(A, return_tensors="pt")
    attention = bert(**inputs, output_attentions=True).attentions
    tokens = tiny_tokenizer().convert_ids_to_tokens(inputs["input_ids"][0])
    state = header(head_view(attention, tokens, layer=1, heads=[0], html_action="return"))["state"]
    assert (state["layer"], state["heads"]) == (1, [0])
    state = header(head_view(attention, tokens, layer=1, html_action="return"))["state"]
    assert state["heads"] == [0, 1, 2, 3]


def test_only_some_layers_and_heads_may_be_included(bert):
    inputs = tiny_tokenizer()(A, return_tensors="pt")
    attention = bert(**inputs, output_attentions=True).attentions
    tokens = tiny_tokenizer().convert_ids_to_tokens(inputs["input_ids"][0])
    shown = model_view(
        attention, tokens, include_layers=[1], include_heads=[0, 2], html_action="return"
    )
    assert header(shown)["parts"][0]["layers"] == [1]
    assert header(shown)["state"]["columns"] == [0, 2]
    assert header(shown)["theme"] == "dark"
    light = model_view(attention, tokens, display_mode="light", html_action="return")
    assert header(light)["theme"] == "light"


def test_gpt2(tiny_gpt2):
    tiny_gpt2.model.set_attn_implementation("eager")
    inputs = tiny_tokenizer()(A, return_tensors="pt")
    del inputs["token_type_ids"]
    outputs = tiny_gpt2.model(**inputs, output_attentions=True)
    tokens = tiny_tokenizer().convert_ids_to_tokens(inputs["input_ids"][0])
    by_tuple = header(model_view(outputs.attentions, tokens, html_action="return"))
    by_object = header(model_view(outputs, tokens, html_action="return"))
    assert by_tuple == by_object


def test_an_encoder_and_a_decoder_of_different_depths(tiny_t5):
    tiny_t5.model.set_attn_implementation("eager")
    tokenizer = tiny_tokenizer()
    source = tokenizer(A, return_tensors="pt").input_ids
    target = tokenizer("a dog ran", return_tensors="pt").input_ids
    outputs = tiny_t5.model(input_ids=source, decoder_input_ids=target, output_attentions=True)
    tokens = {
        "encoder_tokens": tokenizer.convert_ids_to_tokens(source[0]),
        "decoder_tokens": tokenizer.convert_ids_to_tokens(target[0]),
    }
    shown = head_view(
        encoder_attention=outputs.encoder_attentions,
        decoder_attention=outputs.decoder_attentions,
        cross_attention=outputs.cross_attentions,
        html_action="return",
        **tokens,
    )
    depths = {part["kind"]: len(part["layers"]) for part in header(shown)["parts"]}
    assert depths == {"encoder": 2, "decoder": 3, "cross": 3}
    whole = header(head_view(outputs, html_action="return", **tokens))
    assert [part["kind"] for part in whole["parts"]] == ["encoder", "decoder", "cross"]


def test_the_neuron_view_of_a_current_model(tiny_llama):
    shown = neuron_view.show(
        tiny_llama.model, "llama", tiny_tokenizer(), A, layer=1, head=2, html_action="return"
    )
    data = header(shown)
    assert data["view"] == "neuron"
    assert data["parts"][0]["dim"] > 0
    assert (data["state"]["layer"], data["state"]["head"]) == (1, 2)


def test_the_classes_bertviz_kept_copies_of_are_those_of_transformers():
    import transformers

    from headscope.bertviz.neuron_view import show
    from headscope.bertviz.transformers_neuron_view import BertModel, GPT2Tokenizer

    assert BertModel is transformers.BertModel
    assert GPT2Tokenizer is transformers.GPT2Tokenizer
    assert callable(show)


def test_an_empty_tuple_is_explained(bert):
    """`attention = outputs[-1]` of BertViz's README gives this with current transformers."""
    with pytest.raises(BadInput, match="attn_implementation='eager'"):
        head_view((), ["a", "cat"])


def test_a_tuple_of_nones_is_explained():
    with pytest.raises(BadInput, match="None instead of weights"):
        model_view((None, None), ["a", "cat"])


def test_raw_tokens_stay_raw_when_asked_for():
    attention = [torch.full((1, 2, 2, 2), 0.5)]
    pretty = header(head_view(attention, ["Ġa", "Ġcat"], html_action="return"))
    raw = header(head_view(attention, ["Ġa", "Ġcat"], prettify_tokens=False, html_action="return"))
    assert pretty["parts"][0]["query"]["text"] == ["a", "cat"]
    assert raw["parts"][0]["query"]["text"] == ["Ġa", "Ġcat"]


def test_html_action_returns_the_page_or_shows_it(capsys):
    attention = [torch.full((1, 2, 2, 2), 0.5)]
    shown = head_view(attention, ["a", "cat"], html_action="return")
    assert shown.data.startswith("<!doctype html>")
    assert shown._repr_html_().startswith("<iframe srcdoc=")
    assert head_view(attention, ["a", "cat"]) is None
    assert "head view" in capsys.readouterr().out
    with pytest.raises(BadInput, match="html_action"):
        head_view(attention, ["a", "cat"], html_action="show")


def test_the_views_are_modules_too():
    from headscope.bertviz.head_view import head_view as of_module
    from headscope.bertviz.model_view import model_view as of_other
    from headscope.bertviz.neuron_view import get_attention
    from headscope.bertviz.util import get_attention as of_util

    assert of_module is head_view and of_other is model_view and get_attention is of_util


def test_heads_that_are_not_included_are_left_out_of_the_picture(bert):
    inputs = tiny_tokenizer()(A, return_tensors="pt")
    attention = bert(**inputs, output_attentions=True).attentions
    tokens = tiny_tokenizer().convert_ids_to_tokens(inputs["input_ids"][0])
    shown = header(model_view(attention, tokens, include_heads=[1], html_action="return"))
    assert shown["state"]["columns"] == [1]
    assert shown["state"]["head"] == 1


@pytest.mark.parametrize("use_cache", [True, False])
def test_attention_of_generate_is_put_together_step_by_step(tiny_gpt2, use_cache):
    model = tiny_gpt2.model
    model.set_attn_implementation("eager")
    prompt = tiny_tokenizer()(A, return_tensors="pt")["input_ids"]
    written = model.generate(
        prompt,
        max_new_tokens=4,
        do_sample=False,
        use_cache=use_cache,
        output_attentions=True,
        return_dict_in_generate=True,
        pad_token_id=0,
    )
    tokens = tiny_tokenizer().convert_ids_to_tokens(written.sequences[0])
    from headscope.reading import Reading

    whole = model(written.sequences[:, :-1], output_attentions=True).attentions
    for given in (written.attentions, written):
        reading = Reading.from_attention(given, tokens)
        expected = torch.stack(whole)[:, 0].detach().numpy()
        np.testing.assert_allclose(reading.attention, expected, atol=1e-5)
    assert header(head_view(written.attentions, tokens, html_action="return"))["parts"]


def test_get_attention_gives_bertvizs_dictionary(bert):
    from headscope.bertviz.util import get_attention

    found = get_attention(bert, "bert", tiny_tokenizer(), A, B, include_queries_and_keys=True)
    assert set(found) == {"all", "aa", "ab", "ba", "bb"}
    inputs = tiny_tokenizer()(A, B, return_tensors="pt")
    own = torch.stack(bert(**inputs, output_attentions=True).attentions)[:, 0].detach().numpy()
    start = inputs["token_type_ids"][0].tolist().index(1)
    np.testing.assert_allclose(found["all"]["attn"], own, atol=1e-5)
    np.testing.assert_allclose(found["ab"]["attn"], own[:, :, :start, start:], atol=1e-5)
    assert found["ab"]["right_text"] == found["all"]["left_text"][start:]
    q, k = np.array(found["all"]["queries"]), np.array(found["all"]["keys"])
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    made = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(made, own, atol=1e-5)


def test_attention_of_one_stack_and_of_two_cannot_be_mixed(bert):
    inputs = tiny_tokenizer()(A, return_tensors="pt")
    attention = bert(**inputs, output_attentions=True).attentions
    tokens = tiny_tokenizer().convert_ids_to_tokens(inputs["input_ids"][0])
    with pytest.raises(BadInput, match="was given with encoder_attention"):
        head_view(attention, tokens, encoder_attention=attention)
