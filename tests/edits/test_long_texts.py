"""Heads of a long text are switched off and weighed as those of a short one, without its maps."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.capture import interface
from headscope.edits import disable, importance
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
        monkeypatch.setattr(keeping, "SMALL", 0)
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
