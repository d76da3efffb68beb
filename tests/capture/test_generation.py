"""Caches: a call during generation is the matching row of one full pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headscope.capture import Call, capture
from tests.capture.recording import Recording, some_ids
from tests.tiny import tiny_model

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "Llama, grouped queries": ("LlamaForCausalLM", {"num_key_value_heads": 2}),
    "GPT-2": ("GPT2LMHeadModel", {}),
    "Gemma 2, window and soft-cap": (
        "Gemma2ForCausalLM",
        {
            "num_key_value_heads": 2,
            "head_dim": 8,
            "sliding_window": 4,
            "layer_types": ["sliding_attention", "full_attention"],
            "attn_logit_softcapping": 2.0,
        },
    ),
    "gpt-oss, sinks": (
        "GptOssForCausalLM",
        {
            "num_key_value_heads": 2,
            "head_dim": 8,
            "num_local_experts": 2,
            "num_experts_per_tok": 1,
            "sliding_window": 4,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    "GPT-J": ("GPTJForCausalLM", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}),
    "BLOOM": ("BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
}
NEW = 6


FIXED = [name for name in MODELS if name not in ("GPT-J", "BLOOM")]  # these take no static cache
CASES = [*((name, "dynamic") for name in MODELS), *((name, "static") for name in FIXED)]


@pytest.mark.parametrize(("name", "cache"), CASES)
def test_generated_rows_are_rows_of_a_full_pass(name: str, cache: str) -> None:
    architecture, options = MODELS[name]
    model = tiny_model(architecture, **options)
    prompt = some_ids(5, batch=2)
    seen = Recording()
    with torch.no_grad(), capture(model, seen):
        whole = model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=NEW,
            min_new_tokens=NEW,
            do_sample=False,
            cache_implementation=None if cache == "dynamic" else cache,
        )
    full = Recording()
    with torch.no_grad(), capture(model, full):
        model(whole[:, :-1])
    assert whole.shape[1] == 5 + NEW
    assert [layer for _, layer in seen.places] == [0, 1] * NEW
    assert {kind for kind, _ in seen.places} == {"decoder"}
    for number, call in enumerate(seen.calls):
        step, layer = divmod(number, 2)
        last = 5 + step  # tokens there are once this step has read its own
        expected = full.calls[layer].weights[:, :, :last]
        check_rows(call, expected[:, :, last - call.weights.shape[2] :], last)


def check_rows(call: Call, expected: torch.Tensor, last: int) -> None:
    weights = call.weights
    assert call.valid_queries.all()
    assert call.valid_queries.shape[1] == weights.shape[2]
    keys = call.valid_keys
    if keys.shape[1] >= last and bool(keys[:, :last].all()):  # all keys are still there
        assert not keys[:, last:].any()
        torch.testing.assert_close(weights[..., :last], expected[..., :last], atol=1e-5, rtol=0)
        assert not weights[..., last:].any()
        return
    # a window's cache holds the last keys only; the others have no weight in the full pass
    window = min(int(keys.sum(dim=1).max()), last)
    kept = weights[:, :, :, keys[0]] if keys.shape[1] > window else weights
    torch.testing.assert_close(
        kept[..., -window:], expected[..., last - window : last], atol=1e-5, rtol=0
    )
    assert not expected[..., : last - window].any()


def test_encoder_runs_once_and_cross_attention_at_every_step() -> None:
    t5 = tiny_model("T5ForConditionalGeneration", num_layers=3)
    seen = Recording()
    ids = some_ids(7)
    with torch.no_grad(), capture(t5, seen):
        written = t5.generate(ids, max_new_tokens=4, min_new_tokens=4, do_sample=False)
    places = seen.places
    assert places.count(("encoder", 0)) == 1
    assert places.count(("cross", 2)) == places.count(("decoder", 2)) == 4
    full = Recording()
    with torch.no_grad(), capture(t5, full):
        t5(input_ids=ids, decoder_input_ids=written[:, :-1])
    for kind in ("decoder", "cross"):
        steps = [call for call in seen.calls if call.kind == kind and call.layer == 1]
        whole = next(call for call in full.calls if call.kind == kind and call.layer == 1)
        for step, call in enumerate(steps):
            expected = whole.weights[:, :, step : step + 1, : call.weights.shape[3]]
            torch.testing.assert_close(call.weights, expected, atol=1e-5, rtol=0)


def test_left_padding_is_no_part_of_the_text() -> None:
    llama = tiny_model("LlamaForCausalLM", num_key_value_heads=2)
    ids = some_ids(8, batch=2)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    seen = Recording()
    with torch.no_grad(), capture(llama, seen):
        llama.generate(
            ids, attention_mask=mask, max_new_tokens=3, min_new_tokens=3, do_sample=False
        )
    for number, call in enumerate(seen.calls):
        step = number // 2
        keys = torch.cat([mask, torch.ones(2, step, dtype=torch.long)], dim=1).bool()
        assert torch.equal(call.valid_keys, keys)
        assert torch.equal(call.valid_queries, keys[:, -call.weights.shape[2] :])
