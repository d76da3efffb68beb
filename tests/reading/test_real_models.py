"""Real weights: MiniLM and SmolLM2 are read as transformers computes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.capture import Call

pytestmark = pytest.mark.slow

TEXT = "I went to the store."
PAIR = "At the store, I bought fresh strawberries 🍓."


@pytest.fixture(scope="module")
def eager_minilm(minilm_folder: Path):
    """The same weights opened by transformers alone."""
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(minilm_folder, attn_implementation="eager").eval()
    return model, AutoTokenizer.from_pretrained(minilm_folder)


def test_minilm_is_read_exactly(minilm: hs.Scope, eager_minilm) -> None:
    model, tokenizer = eager_minilm
    assert minilm.layers == {"encoder": 6}
    assert minilm.heads == {"encoder": 12}
    assert minilm.read_at == "interface"
    encoded = tokenizer(TEXT, PAIR, return_tensors="pt")
    with torch.no_grad():
        own = model(**encoded, output_attentions=True).attentions
    reading = minilm.read(TEXT, PAIR)
    np.testing.assert_allclose(reading.attention, torch.stack(own)[:, 0], atol=1e-5)
    for layer in reading.part().layers:
        np.testing.assert_allclose(layer.compute_weights(), layer.weights, atol=1e-4)


def test_minilm_batches_equal_single_texts(minilm: hs.Scope) -> None:
    texts = [TEXT, PAIR, "no"]
    for text, reading in zip(texts, minilm.read_batch(texts), strict=True):
        np.testing.assert_allclose(reading.attention, minilm.read(text).attention, atol=1e-5)


def test_minilm_words_are_those_of_the_text(minilm: hs.Scope) -> None:
    words = minilm.read(TEXT, PAIR).words()
    assert "strawberries" in words.tokens
    assert "🍓" in words.tokens
    np.testing.assert_allclose(words.attention.sum("key"), 1, atol=1e-5)
    query = words.part().query
    for label, span, segment in zip(query.labels, query.spans, query.segments, strict=True):
        if span[0] >= 0:
            assert (TEXT, PAIR)[segment][span[0] : span[1]] == label


def test_smollm2_is_read_exactly_from_its_gguf_file(smollm2: hs.Scope) -> None:
    assert smollm2.layers == {"decoder": 30}
    assert smollm2.heads == {"decoder": 9}
    assert smollm2.description.groups == {"decoder": 3}
    reading = smollm2.read(TEXT)
    model = smollm2.model
    found = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        ids = torch.from_numpy(reading.part().query.ids)[None]
        with torch.no_grad():
            own = model(ids, output_attentions=True).attentions
    finally:
        model.set_attn_implementation(found)
    np.testing.assert_allclose(reading.attention, torch.stack(own)[:, 0], atol=1e-5)
    for layer in reading.part().layers:
        np.testing.assert_allclose(layer.compute_weights(), layer.weights, atol=1e-4)


def test_smollm2_generates_rows_equal_to_one_full_pass(smollm2: hs.Scope) -> None:
    """The rows it computed token by token, with its cache, are those of the reading."""
    reading = smollm2.generate("The capital of France is", max_new_tokens=8)
    part = reading.part()
    prompt = reading.metadata["prompt_tokens"]
    assert len(part.query) == prompt + 8
    assert "Paris" in part.query.texts[0]
    rows: dict[int, list[torch.Tensor]] = {}

    def keep(call: Call) -> None:
        rows.setdefault(call.layer, []).append(call.weights[0])

    ids = torch.from_numpy(part.query.ids)[None]
    with torch.no_grad(), smollm2.capture(keep):
        cached = None
        for start, end in ((0, prompt), *((n, n + 1) for n in range(prompt, ids.shape[1]))):
            output = smollm2.model(ids[:, start:end], past_key_values=cached, use_cache=True)
            cached = output.past_key_values
    for layer, steps in rows.items():
        whole = part.weights(layer)
        at = 0
        for step in steps:
            queries, keys = step.shape[1:]
            np.testing.assert_allclose(step, whole[:, at : at + queries, :keys], atol=1e-4)
            at += queries
        assert at == len(part.query)


def test_smollm2_spans_lie_where_the_text_is(smollm2: hs.Scope) -> None:
    tokens = smollm2.read("naïve 🦄 strawberries", keep=()).part().query
    text = tokens.texts[0]
    for label, (start, end) in zip(tokens.labels, tokens.spans, strict=True):
        assert 0 <= start < end <= len(text)
        assert label.startswith("\\x") or text[start:end] == label
    assert tokens.word_texts == ("naïve", "🦄", "strawberries")


def test_smollm2_finds_its_heads_in_a_long_text_as_in_a_short_one(
    smollm2: hs.Scope,
) -> None:
    """700 tokens, kept as q and k alone: the weights are the model's own, the heads the same."""
    chance = np.random.default_rng(0)
    words = chance.choice("river stone apple window garden letter music winter".split(), 300)
    reading = smollm2.read(" ".join([*words, *words]), keep=("q", "k"))
    part = reading.part()
    assert not any(one.has_weights for one in part.layers)
    own = smollm2.read(" ".join([*words, *words]), keep=("weights",), layers=[16])
    np.testing.assert_allclose(part.weights(16), own.part().weights(16), atol=1e-5)
    previous = np.diagonal(part.weights(16), -1, 1, 2).mean(-1)
    assert previous.argmax() == 0 and previous[0] > 0.5


def test_gemma_3_is_read_exactly_beyond_its_window(gemma_file: Path, tmp_path: Path) -> None:
    """Sliding windows of 512 tokens and one group of keys, lazily and from a file."""
    scope = hs.load(gemma_file, name="Gemma 3 270M")
    model = scope.model
    window = model.config.sliding_window
    text = " ".join(f"The {n}th house of the street was painted in a colour." for n in range(80))
    inputs = scope.encode([text], truncate=True, max_tokens=window + 16)
    assert inputs.inputs["input_ids"].shape[1] > window
    model.set_attn_implementation("eager")  # of both passes: fused attention rounds in its own way
    with torch.no_grad():
        own = model(**scope.accepted(inputs.inputs), output_attentions=True).attentions
    reading = scope.read_inputs(inputs.inputs, keep=("q", "k"))
    reading.save(tmp_path / "r.safetensors")
    assert scope.description.groups == {"decoder": 1}
    sliding = 0
    for found in (reading, hs.Reading.load(tmp_path / "r.safetensors")):
        for layer, expected in enumerate(own):
            one = found.part().layer(layer)
            assert not one.has_weights
            np.testing.assert_allclose(found.part().weights(layer), expected[0], atol=1e-5)
            sliding += float(expected[0, :, -1, 0].abs().max()) == 0
    assert sliding >= 2  # layers whose last query does not see the first key any more
