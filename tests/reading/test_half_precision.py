"""Sharp heads in half precision: what the model rounds is no reason to keep whole maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope.reading.collecting import collector, keeping
from headscope.reading.collecting.collector import Positional
from tests.tiny import tiny_scope

TEXT = "the cat sat on the mat and a dog ran to the house while it was one of two " * 3


@pytest.fixture
def sharp(monkeypatch):
    """Scores of up to 60, which bfloat16 rounds by 0.1 and more."""
    monkeypatch.setattr(keeping, "SMALL", 0)  # a short text is kept as a long one is
    monkeypatch.setattr(collector, "TESTED", 59)  # every query
    torch.manual_seed(0)
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=2)
    scope.model.to(torch.bfloat16)
    with torch.no_grad():
        for layer in scope.model.model.layers:
            layer.self_attn.q_proj.weight.normal_(0, 0.7)
            layer.self_attn.k_proj.weight.normal_(0, 0.7)
    return scope


def test_sharp_heads_in_half_precision_are_read_without_maps(sharp):
    part = sharp.read(TEXT).part()
    assert not any(layer.has_weights for layer in part.layers)
    own = sharp.read(TEXT, keep=("weights",)).part()
    apart = float(np.abs(part.weights(0) - own.weights(0)).max())  # later layers read otherwise
    assert 0.03 < apart < 0.25


def test_weights_made_with_a_wrong_mask_are_found_out_though_heads_are_sharp(sharp, monkeypatch):
    monkeypatch.setattr(Positional, "of", lambda *_: (None, None))
    assert all(layer.has_weights for layer in sharp.read(TEXT).part().layers)
