"""Longformer and BigBird against attention computed from their projections, key by key."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

import headscope as hs
from headscope.capture import capture
from tests.capture.recording import Recording, some_ids
from tests.contracts.test_families import state
from tests.tiny import VOCABULARY, tiny_model, tiny_tokenizer

SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
}


def projected(layer: Any, name: str, hidden: Tensor, heads: int = 4) -> Tensor:
    """h t d in float64."""
    made = getattr(layer, name)(hidden).double()[0]
    return made.view(made.shape[0], heads, -1).transpose(0, 1)


def softmax_over(scores: Tensor, seen: Tensor) -> Tensor:
    return scores.masked_fill(~seen, -torch.inf).softmax(-1)


@pytest.mark.parametrize("marks", [[], [0], [0, 7]], ids=str)
def test_longformer_is_a_softmax_over_its_window_and_the_global_tokens(marks: list[int]) -> None:
    model = tiny_model("LongformerModel", attention_window=4, num_hidden_layers=1)
    ids = some_ids(12)
    is_global = torch.zeros_like(ids)
    is_global[:, marks] = 1
    seen = Recording()
    with torch.no_grad(), capture(model, seen):
        model(ids, global_attention_mask=is_global)
        hidden = model.embeddings(ids)
    attention = model.encoder.layer[0].attention.self
    distance = (torch.arange(12)[:, None] - torch.arange(12)[None]).abs()
    near = (distance <= 2) | is_global.bool()
    q, k = (projected(attention, name, hidden) for name in ("query", "key"))
    expected = softmax_over(q @ k.transpose(1, 2) / 8**0.5, near)
    if marks:
        q, k = (projected(attention, name, hidden) for name in ("query_global", "key_global"))
        everywhere = (q @ k.transpose(1, 2) / 8**0.5).softmax(-1)
        expected[:, marks] = everywhere[:, marks]
    assert [call.read_at for call in seen.calls] == ["family"]
    torch.testing.assert_close(seen.calls[0].weights[0].double(), expected, atol=1e-5, rtol=0)


SPARSE = {
    "attention_type": "block_sparse",
    "block_size": 4,
    "num_random_blocks": 1,
    "max_position_embeddings": 128,
}


def test_bigbird_rows_of_global_blocks_are_a_softmax_over_everything() -> None:
    model = tiny_model("BigBirdModel", **SPARSE, num_hidden_layers=1)
    ids = some_ids(64)
    seen = Recording()
    with torch.no_grad(), capture(model, seen):
        model(ids)
        hidden = model.embeddings(ids)
    attention = model.encoder.layer[0].attention.self
    q, k = (projected(attention, name, hidden) for name in ("query", "key"))
    expected = (q @ k.transpose(1, 2) / 8**0.5).softmax(-1)
    weights = seen.calls[0].weights[0].double()
    for block in (slice(0, 4), slice(60, 64)):
        torch.testing.assert_close(weights[:, block], expected[:, block], atol=1e-5, rtol=0)
    assert (weights[:, 24:28, 40:44] == 0).all(), "a middle block looks at no far block"


def test_a_short_text_does_not_turn_bigbird_into_a_full_model() -> None:
    model = tiny_model("BigBirdModel", **SPARSE)
    before = state(model)
    attention = model.encoder.layer[0].attention.self
    short, long = Recording(), Recording()
    with torch.no_grad():
        with capture(model, short):
            model(some_ids(8))
        assert state(model) == before
        assert model.encoder.layer[0].attention.self is attention
        with capture(model, long):
            model(some_ids(64))
    assert {call.read_at for call in short.calls} == {"tap"}
    assert {call.read_at for call in long.calls} == {"family"}
    assert [call.layer for call in short.calls] == [0, 1]
    assert short.calls[0].weights.shape == (1, 4, 8, 8)


def test_asking_longformer_for_its_attentions_still_works_inside() -> None:
    model = tiny_model("LongformerModel", attention_window=4)
    with torch.no_grad():
        own = model(some_ids(12), output_attentions=True)
        with capture(model, Recording()):
            inside = model(some_ids(12), output_attentions=True)
            plain = model(some_ids(12))
    assert plain.attentions is None
    for one, other in zip(own.attentions, inside.attentions, strict=True):
        torch.testing.assert_close(one, other)


def test_a_softmax_over_two_texts_is_refused_in_a_sentence() -> None:
    text = {**SMALL, "num_key_value_heads": 2, "head_dim": 8, "query_pre_attn_scalar": 8}
    text |= {"num_hidden_layers": 1, "layer_types": ["full_attention"]}
    encoder = {"text_config": text, "vision_config": {**SMALL, "image_size": 8, "patch_size": 4}}
    configuration = transformers.T5Gemma2Config(encoder=encoder, decoder=text)
    model = transformers.T5Gemma2ForConditionalGeneration(configuration).eval()
    with pytest.raises(hs.HeadscopeError, match=r"in one softmax.*model.get_encoder\(\)"):
        hs.load(model, tiny_tokenizer()).read("the cat", "a dog")
    part = hs.load(model.get_encoder(), tiny_tokenizer()).read("the cat sat").part()
    assert part.weights(0).sum(-1) == pytest.approx(1, abs=1e-5)


def test_a_prompt_before_the_text_is_refused_in_a_sentence() -> None:
    sizes = {**SMALL, "dim_head": 8, "dim_ff": 32, "prompt_length": 6, "prompt_types": 4}
    model = transformers.CpmAntForCausalLM(transformers.CpmAntConfig(**sizes)).eval()
    with pytest.raises(hs.HeadscopeError, match="a learnt prompt of 6 positions before every text"):
        hs.load(model, tiny_tokenizer()).read("the cat sat")
