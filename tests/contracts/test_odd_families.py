"""Families that most functions refuse: a right number or a sentence, never somebody else's error.

The slow test runs every function; the quick ones those that once raised or were silently wrong.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import HeadscopeError, PaddingShows
from tests.contracts import odd_families as odd
from tests.contracts.test_every_function import FUNCTIONS, TEXTS, scope_named, task
from tests.tiny import tiny_scope

SHORT = "the cat"
LONGER = "the cat sat on the mat"


@pytest.mark.slow
@pytest.mark.parametrize("make", odd.ODD, ids=lambda one: one.__name__)
def test_every_function_answers_or_refuses(make: Any) -> None:
    scope, ended = odd.odd_scope(make), {}
    for name, function in FUNCTIONS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(scope)
        except HeadscopeError as refused:
            assert str(refused).endswith(".")
            ended[name] = "refused"
        else:
            ended[name] = "answers"
    print(f"{scope.name}: {sum(one == 'answers' for one in ended.values())} of {len(ended)} answer")


def test_a_model_that_appends_a_token_is_scored_on_the_text_alone() -> None:
    """VideoPrism's text tower ends with a token of its own."""
    scope = odd.odd_scope(odd.video_prism_text)
    reading = scope.read(TEXTS[0])
    np.testing.assert_allclose(reading.attention.sum("key"), 1, atol=1e-5)
    assert len(hs.patterns(scope, TEXTS, segments="windows", progress=False).table)


def test_text_that_attends_otherwise_than_the_trial_is_refused() -> None:
    scope = odd.odd_scope(odd.git)  # tried with a picture, as an encoder; text alone is decoded
    for asked in (
        lambda: hs.importance(scope, task(scope), progress=False),
        lambda: hs.survey(scope, TEXTS, progress=False),
    ):
        with pytest.raises(HeadscopeError, match=r"choose another kind|differently than"):
            asked()


def test_a_tower_reads_text_though_the_whole_model_needs_more() -> None:
    scope = odd.odd_scope(odd.siglip_2_naflex)
    short = scope.read_batch([SHORT, TEXTS[0]])[0]
    with torch.no_grad():
        ids = scope.tokenizer(SHORT, return_tensors="pt")["input_ids"]
        model = scope.model.text_model
        scope.model.set_attn_implementation("eager")
        own = model(input_ids=ids, output_attentions=True).attentions
    np.testing.assert_allclose(short.attention[0], own[0][0].numpy(), atol=1e-5)
    with pytest.raises(HeadscopeError, match="did not run on the smallest inputs"):
        hs.survey(scope, TEXTS, progress=False)


def test_tokens_that_the_model_cannot_take_are_refused() -> None:
    scope = odd.odd_scope(odd.esmfold)  # knows 21 amino acids
    with pytest.raises(HeadscopeError, match="fails on these inputs"):
        scope.read(TEXTS[0])


def test_a_model_that_answers_elsewhere_has_no_loss_by_token() -> None:
    scope = odd.odd_scope(odd.diffusion_gemma)  # answers with a canvas of 4 positions
    with pytest.raises(HeadscopeError, match="4 positions for 26 tokens"):
        hs.ablate(scope, task(scope), progress=False)
    with pytest.raises(HeadscopeError, match="predicts at 4 positions"):
        hs.attribute(scope, "the cat sat on the red", target="house")


def test_queries_that_no_gradient_reaches_are_refused() -> None:
    scope = odd.odd_scope(odd.zaya)  # normalises query and key in one module of two inputs
    with pytest.raises(HeadscopeError, match="cannot trace the queries and keys"):
        hs.circuits.score(scope, SHORT, 1, 1, query=1, key=0)


def test_an_error_of_ours_in_a_pass_stays_one() -> None:
    """The model alone runs on the text, so the error is not the model's."""

    def broken(call: Any) -> None:
        raise KeyError("a bug")

    scope = tiny_scope("BertModel")
    with pytest.raises(KeyError, match="a bug"):
        scope.forward(scope.encode([SHORT], [None]), broken)


def test_padding_that_shows_is_warned_of() -> None:
    scope = odd.odd_scope(odd.nystromformer)
    assert any("padding" in one for one in scope.read_batch([SHORT, TEXTS[0]])[0].warnings)


def test_keys_that_padding_decides_are_warned_of() -> None:
    """A.X K2 and DeepSeek-V3.2 choose 4 keys here, often between scores that are all 0."""
    for scope in (odd.odd_scope(odd.ax_k2), scope_named("DeepSeek-V3.2")):
        beside = scope.read_batch([LONGER, TEXTS[0]])[0]
        alone = scope.read(LONGER)
        assert np.abs(beside.attention.values - alone.attention.values).max() > 0.01
        assert any("chooses 4 keys for each query" in one for one in beside.warnings)
        assert not alone.warnings
        with pytest.warns(PaddingShows, match="chooses 4 keys"):
            hs.survey(scope, [LONGER, TEXTS[0]], ["entropy"], progress=False)
        few = scope.read_batch(["cat", SHORT])[0]  # up to four tokens, nothing is chosen
        assert not few.warnings
        np.testing.assert_allclose(few.attention, scope.read("cat").attention, atol=1e-5)


TWO_CODES = [odd.kosmos_2, odd.seamless_m4t_v2, odd.paligemma, odd.colpali]


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("make", TWO_CODES, ids=lambda one: one.__name__)
def test_a_model_runs_under_capture_as_alone(make: Any, attention: str) -> None:
    scope = odd.odd_scope(make)
    scope.model.set_attn_implementation(attention)
    ids = scope.tokenizer(SHORT, return_tensors="pt")["input_ids"]
    given = {"input_ids": ids}
    if scope.model.config.is_encoder_decoder:
        given["decoder_input_ids"] = ids
    alone_in_text = make in (odd.paligemma, odd.colpali)  # without a picture
    if alone_in_text:
        given = scope.accepted(scope.encode([SHORT]).inputs)
    model = scope.model.text_model if make is odd.kosmos_2 else scope.model
    maps: dict[int, torch.Tensor] = {}
    with torch.no_grad():
        alone = model(**given)[0]
        with scope.capture(lambda call: maps.update({call.layer: call.weights[0].clone()})):
            seen = model(**given)[0]
    torch.testing.assert_close(seen, alone, atol=1e-5, rtol=1e-4)
    if alone_in_text:
        part = scope.read(SHORT).part()
        for layer, weights in maps.items():
            np.testing.assert_allclose(part.weights(layer), weights, atol=1e-5)
