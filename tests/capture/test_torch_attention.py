"""torch's own attention, held to the weights per head that it gives when asked."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from headscope.capture import Call, capture
from headscope.capture.interface import apply
from headscope.errors import AttentionNotRead

MASKS = ("none", "padding", "bool", "float", "causal and padding")


def made_masks(which: str, batch: int, length: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(3)
    padding = torch.zeros(batch, length, dtype=torch.bool)
    padding[1, -2:] = True
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    return {
        "none": {},
        "padding": {"key_padding_mask": padding},
        "bool": {"attn_mask": future},
        "float": {"attn_mask": torch.randn(length, length)},
        "causal and padding": {"attn_mask": future, "key_padding_mask": padding},
    }[which]


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("which", MASKS)
def test_every_heads_weights_q_k_and_v_are_torchs_own(which: str, batch_first: bool) -> None:
    torch.manual_seed(0)
    module = nn.MultiheadAttention(16, 4, batch_first=batch_first).eval()
    x = torch.randn(2, 6, 16) if batch_first else torch.randn(6, 2, 16)
    masks = made_masks(which, 2, 6)
    calls: list[Call] = []
    with torch.no_grad():
        plain = module(x, x, x, need_weights=False, **masks)[0]
        own = module(x, x, x, average_attn_weights=False, **masks)[1]
        with capture(module, calls.append, scores=True):
            seen, none = module(x, x, x, need_weights=False, **masks)
    (call,) = calls
    assert none is None and torch.backends.mha.get_fastpath_enabled()
    torch.testing.assert_close(call.weights, own, atol=1e-5, rtol=0)
    torch.testing.assert_close(seen, plain, atol=1e-5, rtol=0)
    assert call.q is not None and call.k is not None and call.v is not None
    scores = call.q @ call.k.transpose(-1, -2) * (call.scaling or 0)
    for added in (call.bias, call.mask):
        scores = scores if added is None else scores + added
    torch.testing.assert_close(scores.softmax(-1), own, atol=1e-5, rtol=0)
    mixed = module.out_proj(apply(call.weights, call.v).flatten(2))
    torch.testing.assert_close(
        mixed if batch_first else mixed.transpose(0, 1), plain, atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("norm_first", [True, False])
def test_an_encoder_is_read_although_torch_has_a_fused_path_for_it(norm_first: bool) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)
    model = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    x, padding = torch.randn(2, 6, 16), made_masks("padding", 2, 6)["key_padding_mask"]
    calls: list[Call] = []
    with torch.no_grad():
        plain = model(x, src_key_padding_mask=padding)
        with capture(model, calls.append):
            seen = model(x, src_key_padding_mask=padding)
    assert [call.layer for call in calls] == [0, 1, 2]
    assert {call.kind for call in calls} == {"encoder"}
    assert torch.equal(calls[0].valid_keys, ~padding)
    torch.testing.assert_close(seen[~padding], plain[~padding], atol=1e-5, rtol=0)


def test_a_decoder_layer_looks_at_itself_and_across() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerDecoderLayer(16, 4, 32, batch_first=True).eval()
    future = nn.Transformer.generate_square_subsequent_mask(5)
    calls: list[Call] = []
    with torch.no_grad(), capture(layer, calls.append):
        layer(torch.randn(1, 5, 16), torch.randn(1, 7, 16), tgt_mask=future)
    assert [(call.kind, call.weights.shape[-1]) for call in calls] == [("decoder", 5), ("cross", 7)]


def test_other_weights_take_the_place_of_torchs_own() -> None:
    torch.manual_seed(0)
    module = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = torch.randn(1, 5, 16)

    def silence(call: Call) -> torch.Tensor:
        weights = call.weights.clone()
        weights[:, 2] = 0
        return weights

    with torch.no_grad():
        with capture(module, silence):
            seen = module(x, x, x)[0]
        module.out_proj.weight[:, 8:12] = 0
        torch.testing.assert_close(seen, module(x, x, x)[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("option", ["add_bias_kv", "add_zero_attn"])
def test_a_key_that_is_no_token_is_refused_in_a_sentence(option: str) -> None:
    module = nn.MultiheadAttention(16, 4, batch_first=True, **{option: True})
    with pytest.raises(AttentionNotRead, match="belongs to no token"), capture(module, print):
        pass


def test_two_threads_readings_that_overlap_leave_the_fused_path_open() -> None:
    """The first to begin ends first: its end must not open the path amid the other's pass."""
    torch.manual_seed(0)
    encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
    calls: list[Call] = []
    first, second = contextlib.ExitStack(), contextlib.ExitStack()
    with torch.no_grad(), ThreadPoolExecutor(1) as other:
        other.submit(first.enter_context, capture(encoder, lambda call: None)).result()
        second.enter_context(capture(encoder, calls.append))
        other.submit(first.close).result()
        encoder(torch.randn(1, 5, 16))
        second.close()
    assert len(calls) == 1 and torch.backends.mha.get_fastpath_enabled()
