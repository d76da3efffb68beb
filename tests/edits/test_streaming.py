"""Streaming heads see the first tokens and the latest: equal to masking by hand, lazily too."""

from __future__ import annotations

import sys

import pytest
import torch

from headscope.edits import disable
from headscope.errors import BadInput
from headscope.reading.scope import Scope
from tests.tiny import tiny_scope

SINK, WINDOW = 2, 5
HEADS = [(0, 0), (0, 1), (1, 3)]
FAMILIES = {
    "LlamaForCausalLM": {"num_key_value_heads": 2},
    "Qwen2ForCausalLM": {"num_key_value_heads": 2},
    "Qwen3ForCausalLM": {"num_key_value_heads": 2, "head_dim": 8},
    "GPT2LMHeadModel": {},
    "Gemma3ForCausalLM": {
        "num_key_value_heads": 2,
        "head_dim": 8,
        "sliding_window": 8,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "GptOssForCausalLM": {"num_key_value_heads": 2, "head_dim": 8, "num_local_experts": 4},
}


@pytest.fixture(scope="module", params=FAMILIES)
def scope(request) -> Scope:
    made = tiny_scope(request.param, **FAMILIES[request.param])
    if request.param != "GptOssForCausalLM":  # whose experts refuse
        made.model.double()  # what is left to differ is the masking, not the rounding of two orders
    return made


def ids(length: int, batch: int = 1) -> torch.Tensor:
    return torch.randint(5, 30, (batch, length), generator=torch.Generator().manual_seed(3))


def by_hand(scope: Scope, inputs: dict[str, torch.Tensor], monkeypatch):
    """Logits and maps: the model's own eager attention, with far keys masked for HEADS."""
    home = sys.modules[type(scope.model).__module__]
    own = home.eager_attention_forward
    maps: list[torch.Tensor] = []

    def masked(module, query, key, value, attention_mask, **options):
        length = key.shape[2]
        position = torch.arange(length)
        far = (position[:, None] - position >= WINDOW) & (position >= SINK)
        extra = query.new_zeros(1, query.shape[1], length, length)
        for layer, head in HEADS:
            if layer == module.layer_idx:
                extra[0, head].masked_fill_(far, torch.finfo(query.dtype).min / 2)
        output, weights = own(module, query, key, value, attention_mask + extra, **options)
        maps.append(weights)
        return output, weights

    with monkeypatch.context() as patch, torch.no_grad():
        patch.setattr(home, "eager_attention_forward", masked)
        patch.setattr(scope.model.config, "_attn_implementation_internal", "eager")
        return scope.model(**inputs).logits, maps


@pytest.mark.parametrize("lazily", [False, True])
def test_streaming_equals_masking_by_hand(scope, lazily, monkeypatch):
    inputs = {"input_ids": ids(40), "attention_mask": torch.ones(1, 40, dtype=torch.long)}
    wanted, maps = by_hand(scope, inputs, monkeypatch)
    plain = scope.forward(inputs).logits
    monkeypatch.setattr(disable, "LARGE", 0 if lazily else 2**40)
    edited = scope.without(heads=HEADS, mode="streaming", weights=(SINK, WINDOW))
    found: list[torch.Tensor] = []
    logits = edited.forward(inputs, lambda call: found.append(call.weights), lazy=lazily).logits
    exact = 1e-6 if wanted.dtype == torch.float64 else 1e-5
    for one, two in zip(found, maps, strict=True):
        torch.testing.assert_close(one.float(), two.float(), atol=exact, rtol=0)
    assert (logits - wanted).abs().max() <= exact * wanted.abs().max()
    assert (plain - wanted).abs().max() > 1e-4  # or nothing was shown


def test_of_a_long_text_no_map_is_made_and_rows_are_the_same(monkeypatch):
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=2, max_position_embeddings=4096)
    inputs = {"input_ids": ids(2200)}
    seen, rows = [], torch.tensor([3, 700, 2199])

    def look(call):
        part = call.weights_of(rows)
        seen.append((part, call.lazy_weights.made))

    edited = scope.without(heads=HEADS, mode="streaming", weights=(4, 64))
    whole = edited.forward(inputs, look, lazy=True).logits
    weights = [part for part, _ in seen]
    assert not any(made for _, made in seen)
    monkeypatch.setattr(disable, "LARGE", 2**40)
    seen.clear()
    torch.testing.assert_close(edited.forward(inputs, look).logits, whole, atol=1e-4, rtol=1e-3)
    for one, (two, _) in zip(weights, seen, strict=True):
        torch.testing.assert_close(one, two, atol=1e-6, rtol=1e-5)


def test_padding_on_the_left_is_no_sink():
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=2)
    alone = ids(20)
    padded = torch.cat([torch.zeros(1, 7, dtype=torch.long), alone], 1)
    mask = (torch.arange(27) >= 7).long()[None]
    edited = scope.without(heads=HEADS, mode="streaming", weights=(SINK, WINDOW))
    one = edited.forward({"input_ids": alone, "attention_mask": torch.ones_like(alone)}).logits
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    given = {"input_ids": padded, "attention_mask": mask, "position_ids": positions}
    torch.testing.assert_close(edited.forward(given).logits[:, 7:], one, atol=1e-5, rtol=1e-5)


def test_with_a_cache_the_window_moves_with_the_query():
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=2)
    edited = scope.without(heads=HEADS, mode="streaming", weights=(SINK, WINDOW))
    whole = edited.forward({"input_ids": ids(24)}).logits
    begun = edited.forward({"input_ids": ids(24)[:, :16]}, use_cache=True)
    rest = edited.forward(
        {"input_ids": ids(24)[:, 16:]}, past_key_values=begun.past_key_values, use_cache=True
    )
    torch.testing.assert_close(rest.logits, whole[:, 16:], atol=1e-5, rtol=1e-5)


def test_a_window_over_the_whole_text_changes_nothing():
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=2)
    inputs = {"input_ids": ids(30)}
    edited = scope.without(layers=[0, 1], mode="streaming", weights=(0, 30))
    plain = scope.forward(inputs).logits
    torch.testing.assert_close(edited.forward(inputs).logits, plain, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("wrong", [(4,), (4, 0), (-1, 8), "4,8", 4, (4.0, 8)])
def test_sizes_that_make_no_sense_are_refused(wrong):
    scope = tiny_scope("LlamaForCausalLM")
    with pytest.raises(BadInput, match="window"):
        scope.without(heads=[(0, 0)], mode="streaming", weights=wrong)
