"""What a call carries: groups, windows, sinks, soft-caps, scaling, causality, real tokens."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headscope.capture import Call, capture
from tests.capture.recording import Recording, some_ids
from tests.contracts.families import FAMILIES
from tests.contracts.family_models import build
from tests.tiny import tiny_model

GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
WINDOW = {"sliding_window": 3, "layer_types": ["sliding_attention", "full_attention"]}


def calls_of(model: Any, length: int = 8, **given: Any) -> list[Call]:
    seen = Recording()
    with torch.no_grad(), capture(model, seen):
        model(some_ids(length), **given)
    return seen.calls


def test_keys_of_grouped_queries_are_not_repeated() -> None:
    for call in calls_of(tiny_model("LlamaModel", num_key_value_heads=2)):
        assert call.q is not None and call.k is not None and call.v is not None
        assert (call.heads, call.groups) == (4, 2)
        assert call.q.shape == (1, 4, 8, 8)
        assert call.k.shape == call.v.shape == (1, 2, 8, 8)
        assert call.weights.shape == (1, 4, 8, 8)


def test_a_window_hides_what_lies_before_it() -> None:
    local, full = calls_of(tiny_model("Gemma3TextModel", **GROUPED, **WINDOW))
    distance = torch.arange(8)[:, None] - torch.arange(8)[None]
    assert local.window == 3
    assert full.window is None
    for call, hidden in ((local, (distance < 0) | (distance >= 3)), (full, distance < 0)):
        assert call.causal
        assert torch.equal(call.weights == 0, hidden.expand(1, 4, 8, 8))
        assert call.mask is not None
        assert torch.equal(call.mask < -1e30, hidden.expand(1, 1, 8, 8))


def test_modernbert_looks_both_ways_within_its_window() -> None:
    options = {"local_attention": 4, "global_attn_every_n_layers": 2}
    full, local = calls_of(tiny_model("ModernBertModel", **options))
    assert not full.causal
    assert not local.causal
    assert (full.weights > 0).all()
    assert (local.weights == 0).any()
    assert torch.equal(local.weights > 0, (local.weights > 0).transpose(-1, -2))


def test_sinks_take_their_share_of_every_row() -> None:
    model = tiny_model(
        "GptOssModel", **GROUPED, **WINDOW, num_local_experts=2, num_experts_per_tok=1
    )
    for block in model.layers:
        torch.nn.init.constant_(block.self_attn.sinks, 1.0)
    for call in calls_of(model):
        assert call.sinks is not None
        assert call.sinks.reshape(-1).shape == (4,)
        assert (call.weights.sum(-1) < 1).all()
        assert call.weights.sum(-1).mean() < 0.95


def test_soft_cap_and_own_scaling_are_stated() -> None:
    model = tiny_model(
        "Gemma2Model", **GROUPED, **WINDOW, attn_logit_softcapping=2.0, query_pre_attn_scalar=16
    )
    for call in calls_of(model):
        assert call.softcap == 2.0
        assert call.scaling == 0.25


def test_t5_scores_are_unscaled_and_biased_by_position() -> None:
    t5 = tiny_model("T5ForConditionalGeneration")
    calls = calls_of(t5, decoder_input_ids=some_ids(5))
    for call in calls:
        assert call.scaling == 1.0
    self_attention = [call for call in calls if call.kind != "cross"]
    for call in self_attention:
        assert call.bias is not None
        assert call.bias.shape[1:] == call.weights.shape[1:]
        assert call.bias.abs().max() < 1e30, "the mask is no part of the bias"


@pytest.mark.parametrize("lazy", [False, True])
def test_causality_comes_from_the_mask(lazy: bool) -> None:
    """A decoder told to look both ways is read as it looks, though its modules say causal."""
    llama = tiny_model("LlamaModel", num_key_value_heads=2)
    llama.config.is_causal = False
    ids = some_ids(8, batch=2)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    seen = Recording()
    with torch.no_grad(), capture(llama, seen, lazy=lazy):
        llama(ids, attention_mask=mask)
    for call in seen.calls:
        assert not call.causal
        assert call.kind == "encoder"
        assert (call.weights[0] > 0).all()


def test_padding_may_stand_on_either_side() -> None:
    xlnet = next(family for family in FAMILIES if family.name == "XLNet")
    for model in (tiny_model("BertModel"), tiny_model("LlamaModel"), build(xlnet)):
        ids = some_ids(6, batch=2)
        for hidden in (slice(4, 6), slice(0, 2)):
            mask = torch.ones_like(ids)
            mask[1, hidden] = 0
            seen = Recording()
            with torch.no_grad(), capture(model, seen):
                model(ids, attention_mask=mask)
            for call in seen.calls:
                assert torch.equal(call.valid_queries, mask.bool())
                assert torch.equal(call.valid_keys, mask.bool())


def test_decoder_padding_is_known_to_cross_attention() -> None:
    bart = tiny_model(
        "BartModel",
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
    )
    ids, target = some_ids(6, batch=2), some_ids(5, batch=2)
    masks = {"attention_mask": torch.ones_like(ids), "decoder_attention_mask": torch.ones(2, 5)}
    masks["attention_mask"][0, 4:] = 0
    masks["decoder_attention_mask"][1, 3:] = 0
    seen = Recording()
    with torch.no_grad(), capture(bart, seen):
        bart(ids, decoder_input_ids=target, **masks)
    cross = next(call for call in seen.calls if call.kind == "cross")
    assert torch.equal(cross.valid_queries, masks["decoder_attention_mask"].bool())
    assert torch.equal(cross.valid_keys, masks["attention_mask"].bool())


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("architecture", ["BertModel", "LlamaModel", "DebertaV2Model"])
def test_half_precision_is_read_as_the_model_computes_it(architecture: str, lazy: bool) -> None:
    model = tiny_model(architecture).to(torch.bfloat16)
    own = tiny_model(architecture).to(torch.bfloat16)
    own.set_attn_implementation("eager")
    ids = some_ids(8, batch=2)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    seen = Recording()
    with torch.no_grad(), capture(model, seen, lazy=lazy):
        model(ids, attention_mask=mask)
        first = seen.calls[0].weights
    with torch.no_grad():
        expected = own(ids, attention_mask=mask, output_attentions=True).attentions[0]
    assert first.dtype == torch.bfloat16
    assert torch.equal(first * mask[:, None, :, None], expected * mask[:, None, :, None])
