"""Attention that somebody else computed, in any form they may hold it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from headscope.errors import BadInput
from headscope.reading import Reading
from tests.capture.recording import some_ids
from tests.tiny import tiny_model

TOKENS = ["[CLS]", "a", "##b", "[SEP]", "c", "[SEP]"]


def weights(layers: int = 2, heads: int = 3, queries: int = 6, keys: int = 6) -> np.ndarray:
    raw = np.random.default_rng(0).random((layers, heads, queries, keys), dtype=np.float32)
    return raw / raw.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    "form",
    [
        lambda a: a,
        lambda a: torch.from_numpy(a),
        lambda a: torch.from_numpy(a).bfloat16(),
        lambda a: torch.from_numpy(a).requires_grad_(),
        lambda a: tuple(torch.from_numpy(a)),
        lambda a: tuple(torch.from_numpy(a)[:, None]),
        lambda a: list(a),
        lambda a: a[:, None],
        lambda a: {"attentions": tuple(torch.from_numpy(a)[:, None])},
    ],
    ids=["array", "tensor", "half", "grad", "tuple", "batched", "list", "batched array", "output"],
)
def test_every_form_gives_the_same_reading(form: Any) -> None:
    reading = Reading.from_attention(form(weights()), TOKENS, sentence_b_start=4)
    np.testing.assert_allclose(reading.encoder, weights(), atol=4e-3)
    assert reading.tokens == tuple(TOKENS)
    query = reading.part().query
    assert list(query.segments) == [0, 0, 0, 0, 1, 1]
    assert list(query.word_ids) == [-1, 0, 0, -1, 1, -1]
    assert list(query.classes) == [0, 4, 4, 1, 4, 1]
    assert reading.part().why_no_qk is not None


def test_causal_attention_is_a_decoders() -> None:
    lower = np.tril(weights())
    reading = Reading.from_attention(lower / lower.sum(-1, keepdims=True), TOKENS)
    assert reading.kinds == ("decoder",)


def test_a_models_output_can_be_passed_whole() -> None:
    bert = tiny_model("BertModel")
    bert.set_attn_implementation("eager")
    output = bert(some_ids(6), output_attentions=True)
    reading = Reading.from_attention(output, TOKENS)
    np.testing.assert_allclose(reading.attention[0], output.attentions[0][0].detach(), atol=1e-6)
    t5 = tiny_model("T5ForConditionalGeneration")
    t5.set_attn_implementation("eager")
    output = t5(some_ids(6), decoder_input_ids=some_ids(4), output_attentions=True)
    reading = Reading.from_attention(output, encoder_tokens=TOKENS, decoder_tokens=TOKENS[:4])
    assert reading.kinds == ("encoder", "decoder", "cross")
    assert reading.cross.shape == (2, 4, 4, 6)


def test_three_kinds_may_be_given_apart() -> None:
    reading = Reading.from_attention(
        encoder_attention=weights(),
        decoder_attention=weights(3, 2, 4, 4),
        cross_attention=weights(3, 2, 4, 6),
        encoder_tokens=TOKENS,
        decoder_tokens=TOKENS[:4],
    )
    assert reading.cross.shape == (3, 2, 4, 6)
    only_cross = Reading.from_attention(
        cross_attention=weights(1, 1, 4, 6), encoder_tokens=TOKENS, decoder_tokens=TOKENS[:4]
    )
    assert only_cross.kinds == ("cross",)


def test_layers_can_be_chosen() -> None:
    reading = Reading.from_attention(weights(4), TOKENS, layers=[3, 1])
    assert reading.part().numbers == (3, 1)
    np.testing.assert_allclose(reading.part().weights(3), weights(4)[3])
    shown = Reading.from_attention(weights(2), TOKENS, layers=[7, 9])
    assert shown.part().numbers == (7, 9), "as many as there are: they are names"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (((), TOKENS), "The attention is empty"),
        (({"attentions": None}, TOKENS), "attn_implementation='eager'"),
        ((None, TOKENS), "Give attention, or encoder_attention"),
        ((weights(), None), "Give tokens: one string for every row"),
        ((weights(), TOKENS[:4]), "is 6 × 6, but there are 4 query and 4 key tokens"),
        ((np.stack([weights()] * 2, axis=1), TOKENS), r"batch of 2 inputs.*layer\[:1\]"),
        ((3.0, TOKENS), "must be an array or a sequence of arrays"),
        (((None, None), TOKENS), "The attention is empty.*attn_implementation='eager'"),
        ((["a", "b"], TOKENS), "must be an array or a sequence of arrays"),
    ],
)
def test_each_mistake_gets_one_sentence(arguments: Any, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence) as caught:
        Reading.from_attention(*arguments)
    assert "\n" not in str(caught.value)


def test_an_unknown_layer_is_named() -> None:
    with pytest.raises(BadInput, match="There is no layer 5; the attention has 2 layers"):
        Reading.from_attention(weights(), TOKENS, layers=[5])


def test_a_sentence_that_begins_outside_the_text_is_refused() -> None:
    for start in (-1, 7):
        with pytest.raises(BadInput, match="sentence_b_start"):
            Reading.from_attention(weights(), TOKENS, sentence_b_start=start)
