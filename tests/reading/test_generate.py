"""Generated text: one reading over prompt and new tokens, equal to one full pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import BadInput


@pytest.mark.parametrize("fixture", ["tiny_gpt2", "tiny_llama", "tiny_gemma"])
def test_rows_of_new_tokens_equal_one_full_pass(fixture: str, request) -> None:
    scope: hs.Scope = request.getfixturevalue(fixture)
    reading = scope.generate("the cat sat", max_new_tokens=5, min_new_tokens=5)
    part = reading.part()
    prompt = reading.metadata["prompt_tokens"]
    assert prompt == 5
    assert len(part.query) == prompt + 5
    ids = torch.from_numpy(part.query.ids)[None]
    scope.model.set_attn_implementation("eager")
    with torch.no_grad():
        own = scope.model(ids, output_attentions=True).attentions
    scope.model.set_attn_implementation("sdpa")
    np.testing.assert_allclose(reading.attention, torch.stack(own)[:, 0], atol=1e-5)


def test_decoder_of_two_stacks_shows_what_it_wrote(tiny_t5: hs.Scope) -> None:
    reading = tiny_t5.generate("the cat sat", max_new_tokens=4, min_new_tokens=4)
    written = reading.part("decoder").query
    assert len(written) == 5
    assert reading.cross.shape == (3, 4, 5, 5)
    assert reading.metadata["prompt_tokens"] == 1


def test_edits_hold_while_text_is_generated(tiny_llama: hs.Scope) -> None:
    plain = tiny_llama.generate("the cat sat", max_new_tokens=8, min_new_tokens=8)
    edited = tiny_llama.edited(lambda call: torch.zeros_like(call.weights))
    changed = edited.generate("the cat sat", max_new_tokens=8, min_new_tokens=8)
    assert not changed.attention.any()
    assert plain.tokens != changed.tokens


def test_sampling_options_reach_the_model(tiny_gpt2: hs.Scope) -> None:
    torch.manual_seed(0)
    reading = tiny_gpt2.generate(
        "the cat", max_new_tokens=3, do_sample=True, temperature=2.0, return_dict_in_generate=True
    )
    assert len(reading.tokens) <= 4 + 3


def test_a_model_that_does_not_write_is_refused(tiny_bert: hs.Scope) -> None:
    with pytest.raises(BadInput, match=r"does not generate text; load a model that does\."):
        tiny_bert.generate("the cat")
