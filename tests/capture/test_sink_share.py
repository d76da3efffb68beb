"""A family that scales its output by what a sink leaves over shows the weights it mixes with."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

import headscope as hs
from tests.tiny import tiny_scope

TEXT = "the cat sat on the mat ."


@pytest.fixture(scope="module")
def granite() -> hs.Scope:
    scope = tiny_scope("GraniteSWAForCausalLM", num_key_value_heads=2, sliding_window=4)
    for name, parameter in scope.model.named_parameters():
        if name.endswith("sinks"):
            torch.nn.init.normal_(parameter, std=2.0)
    return scope


def test_weights_are_those_values_are_mixed_with(granite: hs.Scope) -> None:
    reading = granite.read(TEXT, keep=("weights", "q", "k"))
    inputs = granite.accepted(granite.encode([TEXT]).inputs)
    own = granite.model(**inputs, output_attentions=True).attentions
    for number, layer in enumerate(reading.part().layers):
        sinks = layer.sinks
        assert sinks is not None and sinks.std() > 0.5
        q, k = (np.asarray(one, dtype=np.float64) for one in (layer.q, layer.k))
        scores = q @ np.repeat(k, 2, axis=0).transpose(0, 2, 1) * layer.scaling
        mask = layer.mask
        assert mask is not None
        left = np.where(mask, np.exp(scores), 0).sum(-1)
        share = left / (left + np.exp(sinks.astype(np.float64))[:, None])
        expected = own[number][0].detach().numpy() * share[..., None]
        np.testing.assert_allclose(reading.part().weights(number), expected, atol=1e-5)
        np.testing.assert_allclose(layer.compute_weights(), expected, atol=1e-5)


def test_a_head_switched_off_leaves_the_others_as_they_were(
    granite: hs.Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = granite.accepted(granite.encode([TEXT]).inputs)
    edited = granite.without([(0, 1)], mode="zero").forward(inputs).logits
    first: Any = granite.model.model.layers[0].self_attn

    def silenced(module: Any, *args: Any, **options: Any) -> tuple[Tensor, Tensor]:
        own = sys.modules[type(module).__module__].eager_attention_forward
        output, weights = own(module, *args, **options)
        return output * (torch.arange(4) != 1)[:, None] if module is first else output, weights

    AttentionInterface.register("silenced", silenced)
    AttentionMaskInterface.register("silenced", eager_mask)
    monkeypatch.setattr(granite.model.config, "_attn_implementation_internal", "silenced")
    with torch.no_grad():
        expected = granite.model(**inputs).logits
    torch.testing.assert_close(edited, expected, atol=1e-5, rtol=1e-5)
