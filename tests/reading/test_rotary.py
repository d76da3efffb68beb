"""Which neurons turn in pairs, held to q itself: a pair keeps its length at every position."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.capture import Call, capture
from headscope.patterns.explain.contributors import contributors
from headscope.reading.rotary import Rotary, neuron_groups, restored, rotary_of
from headscope.views.neuron import by_contribution
from tests.contracts.families import FAMILIES
from tests.contracts.family_models import build
from tests.tiny import tiny_tokenizer

BY_NAME = {family.name: family for family in FAMILIES}
FOUND = {
    "GPT-NeoX": Rotary(2),
    "Phi": Rotary(4),
    "StableLM": Rotary(2),
    "GLM-4": Rotary(4, "neighbours"),
    "GPT-J": Rotary(4, "neighbours"),
    "Llama": Rotary(),
    "Cohere": Rotary(None, "neighbours"),
    "ESM": Rotary(),
    "RoFormer": Rotary(None, "neighbours"),
    "Llama 4": Rotary(None, "neighbours"),
    "DeepSeek-V3": Rotary(4, "halves", 4),
    "GPT-2": None,
}


@pytest.mark.parametrize("name", FOUND)
def test_neurons_that_turn_are_told_from_those_that_do_not(name: str) -> None:
    """One token over and over: in the first layer nothing but its position changes its q."""
    calls: list[Call] = []
    model = build(BY_NAME[name])
    with torch.no_grad(), capture(model, calls.append, scores=True):
        model(input_ids=torch.full((1, 6), 7), attention_mask=torch.ones(1, 6, dtype=torch.long))
    first = calls[0]
    assert rotary_of(first) == FOUND[name]
    if FOUND[name] is None:
        return
    assert first.q is not None
    q = first.q[0].double()  # h t d
    for group in neuron_groups(FOUND[name], q.shape[-1]):
        lengths = q[..., list(group)].square().sum(-1)
        assert float((lengths - lengths[:, :1]).abs().max()) < 1e-4 * float(q.square().max())
        assert (len(group) == 2) == bool((q[..., group[0]].std(dim=1) > 1e-5).any())


def test_a_partly_rotary_head_is_explained_by_pairs_and_by_plain_neurons(tmp_path) -> None:
    scope = hs.load(build(BY_NAME["Phi"]), tiny_tokenizer(), name="Phi")
    reading = scope.read("the cat sat on the mat")
    reading.save(tmp_path / "r.safetensors")
    for part in (reading.part(), hs.Reading.load(tmp_path / "r.safetensors").part()):
        parts = contributors(part, 0, 1)
        assert parts.neurons == ((0, 2), (1, 3), (4,), (5,), (6,), (7,))
        np.testing.assert_allclose(parts.weights(), part.head_weights(0, 1), atol=1e-5)
    drawn = hs.neuron_view(reading, layer=0, head=1)
    assert drawn.data.header["parts"][0]["rotary"] == {"dim": 4, "pairing": "halves", "start": 0}
    why = hs.explain(reading, 0, 1, "previous_word")
    assert why.unit == "frequency pairs and plain neurons" and why.count == 6


def test_an_order_by_contribution_keeps_pairs_together_and_plain_neurons_alone() -> None:
    q, k = np.ones(6), np.zeros((2, 6))
    k[0] = [0, 1, 0, 1, 5, 0]
    order, share = by_contribution(q, k, np.array([1.0, 0.0]), np.ones(2, bool), Rotary(4))
    assert order.tolist() == [4, 1, 3, 0, 2, 5]
    np.testing.assert_allclose(share, [5 / 7, 1, 1, 1, 1, 1])


def test_older_files_say_only_that_neurons_turn() -> None:
    assert restored(True) == Rotary() and restored(False) is None
