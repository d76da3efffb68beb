"""Heads of a long text are switched off and weighed as those of a short one, without its maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headscope.capture import interface
from headscope.edits import disable, importance, slopes_by_layer
from headscope.edits.live import effect, important_heads
from headscope.reading.collecting import keeping
from tests.tiny import tiny_scope

TEXT = "The cat sat on the mat and the dog ran to the red house, and then it went to the store."
OFF = [(0, 1), (1, 0), (1, 3)]


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch):
    """Every text counts as long; what was made whole is noted."""
    made: list[str] = []
    own = interface._Own.eager

    def eager(self: interface._Own):
        made.append(type(self.module).__name__)
        return own(self)

    def begin() -> list[str]:
        for module in (disable, importance):
            monkeypatch.setattr(module, "LARGE", 0)
        monkeypatch.setattr(keeping.Keeping, "maps", lambda *sizes: False)
        monkeypatch.setattr(interface._Own, "eager", eager)
        return made

    return begin


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "BertForMaskedLM", "GPT2LMHeadModel"])
def test_a_head_off_is_the_same_however_long_the_text(name, long):
    scope = tiny_scope(name, attn_implementation="sdpa")
    text = TEXT.replace("dog", "[MASK]")
    before = effect(scope, text, off=OFF)
    ranked = {(w.layer, w.head): w.importance for w in important_heads(scope, text).heads}
    maps = scope.without(OFF).read(TEXT).part()
    made = long()
    after = effect(scope, text, off=OFF)
    again = {(w.layer, w.head): w.importance for w in important_heads(scope, text).heads}
    reading = scope.without(OFF).read(TEXT).part()
    assert made == []
    assert before.divergence > 1e-7
    assert after.divergence == pytest.approx(before.divergence, rel=1e-3)
    for one, two in zip(before.after, after.after, strict=True):
        assert [p.token for p in one] == [p.token for p in two]
        assert [p.probability for p in one] == pytest.approx([p.probability for p in two], rel=1e-4)
    assert again == pytest.approx(ranked, rel=1e-3, abs=1e-6)
    for layer in reading.layers:
        assert not layer.has_weights
        np.testing.assert_allclose(
            layer.head_weights(slice(None)), maps.weights(layer.layer), atol=1e-5
        )


def test_a_head_that_even_queries_do_not_make_even_gets_its_weights_as_before(long):
    scope = tiny_scope("T5ForConditionalGeneration")  # a bias is added to its products
    inputs = {"text": TEXT, "target": "he said it"}
    whole = scope.without([(0, 1)]).read(**inputs).part("encoder").weights(0)
    long()
    found = scope.without([(0, 1)]).read(**inputs).part("encoder").weights(0)
    np.testing.assert_allclose(found, whole, atol=1e-5)
    assert np.ptp(found[1]) < 1e-6


class Saved:
    """What autograd keeps for slopes that are still to come: bytes now, and at most."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def hooks(self) -> Any:
        return torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: Kept(self, tensor), lambda kept: kept.tensor
        )


class Kept:
    def __init__(self, saved: Saved, tensor: Tensor) -> None:
        self.saved, self.tensor = saved, tensor
        saved.now += tensor.nbytes
        saved.most = max(saved.most, saved.now)

    def __del__(self) -> None:
        self.saved.now -= self.tensor.nbytes


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "BertForMaskedLM", "GPT2LMHeadModel"])
def test_heads_of_a_long_text_are_weighed_layer_by_layer_and_the_same(name, monkeypatch):
    layers = {"n_layer": 6} if "GPT2" in name else {"num_hidden_layers": 6}
    text = TEXT.replace("dog", "[MASK]")
    scope = tiny_scope(name, attn_implementation="sdpa", **layers)
    assert slopes_by_layer.layers_by_themselves(scope) is not None
    whole, apart = Saved(), Saved()
    for edited in (scope, scope.without([(1, 2), (4, 0)])):
        with whole.hooks():
            before = important_heads(edited, text)
        with monkeypatch.context() as patch, apart.hooks():
            patch.setattr(slopes_by_layer, "LONG", 0)
            after = important_heads(edited, text)
        sizes = [{(w.layer, w.head): w.importance for w in one.heads} for one in (before, after)]
        assert len(sizes[0]) == 24 and max(sizes[0].values()) > 1e-4
        assert sizes[1] == pytest.approx(sizes[0], rel=1e-4, abs=1e-7)
    assert apart.most < whole.most / 3


def test_layers_that_hand_on_more_than_hidden_states_are_not_run_by_themselves():
    scope = tiny_scope("LlamaForCausalLM")
    first, *_, last = scope.model.model.layers
    kept: dict[str, Tensor] = {}
    handles = [
        first.register_forward_hook(lambda module, given, output: kept.update(first=output)),
        last.register_forward_hook(lambda module, given, output: output + kept["first"]),
    ]
    try:
        assert slopes_by_layer.layers_by_themselves(scope) is None
    finally:
        for handle in handles:
            handle.remove()
    assert slopes_by_layer.layers_by_themselves(tiny_scope("T5ForConditionalGeneration")) is None
