"""A lazy door makes no weights that nobody asks for, and the right ones when somebody does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from headscope.capture import Call, capture
from tests.capture.recording import Recording, some_ids
from tests.tiny import tiny_model

LENGTH = 24


class Sizes(TorchDispatchMode):
    """Remembers the largest tensor any operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        for tensor in output if isinstance(output, (tuple, list)) else (output,):
            if isinstance(tensor, torch.Tensor):
                self.largest = max(self.largest, tensor.untyped_storage().nbytes())
        return output


def largest_tensor(model: Any, sink: Any, lazy: bool) -> int:
    ids = some_ids(256)
    with torch.no_grad(), Sizes() as sizes, capture(model, sink, lazy=lazy):
        model(ids)
    return sizes.largest


@pytest.mark.parametrize("architecture", ["LlamaModel", "BertModel", "GPT2Model"])
def test_no_map_is_made_when_nobody_looks(architecture: str) -> None:
    sizes = {"n_positions": 256} if "GPT2" in architecture else {"max_position_embeddings": 256}
    sizes |= {"n_embd": 32, "n_layer": 2, "n_head": 4} if "GPT2" in architecture else {}
    model = tiny_model(architecture, **sizes)
    one_map = 256 * 256 * 4  # bytes of one head
    assert largest_tensor(model, lambda call: None, lazy=True) < one_map
    assert largest_tensor(model, lambda call: None, lazy=False) >= 4 * one_map


def test_q_and_k_come_without_the_weights() -> None:
    llama = tiny_model("LlamaModel", max_position_embeddings=256)

    def look(call: Call) -> None:
        assert call.q is not None and call.k is not None
        assert call.heads == 4
        assert call.valid_queries.all()

    assert largest_tensor(llama, look, lazy=True) < 256 * 256 * 4


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(
    ("architecture", "options"),
    [
        ("LlamaModel", {}),
        ("MistralModel", {"sliding_window": 4, "num_key_value_heads": 2}),
        ("BertModel", {}),
        ("GPT2Model", {}),
        ("GPT2Model", {"reorder_and_upcast_attn": True}),
        ("GPTJModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}),
        ("BloomModel", {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
        ("MPNetModel", {}),
    ],
)
def test_a_lazy_door_gives_the_same_weights(architecture: str, options: Any, padded: bool) -> None:
    """Above all the families that take their own softmax must not lose their mask."""
    if "GPT2" in architecture:
        options = {"n_embd": 32, "n_layer": 2, "n_head": 4, **options}
    model = tiny_model(architecture, **options)
    ids = some_ids(10, batch=2)
    mask = torch.ones_like(ids)
    if padded:
        mask[1, 6:] = 0
    eager, lazy = Recording(), Recording()
    with torch.no_grad():
        with capture(model, eager):
            plain = model(ids, attention_mask=mask).last_hidden_state
        with capture(model, lazy, lazy=True):
            found = model(ids, attention_mask=mask).last_hidden_state
    real = mask[..., None]
    torch.testing.assert_close(found * real, plain * real, atol=1e-5, rtol=1e-5)
    for one, other in zip(eager.calls, lazy.calls, strict=True):
        rows = mask[:, None, :, None]
        torch.testing.assert_close(one.weights * rows, other.weights * rows, atol=1e-5, rtol=1e-5)
        assert torch.equal(one.valid_keys, other.valid_keys)
        assert one.causal == other.causal


def test_a_lazy_door_inside_an_eager_one_sees_its_weights() -> None:
    bert = tiny_model("BertModel")
    outer, inner = Recording(), Recording()
    with torch.no_grad(), capture(bert, outer), capture(bert, inner, lazy=True):
        bert(some_ids())
    for one, other in zip(outer.calls, inner.calls, strict=True):
        assert one.weights is other.weights
