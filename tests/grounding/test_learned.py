"""Head weights: found where they are, kept as JSON, refused on another model."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.grounding import learned
from headscope.grounding.facts import KINDS, Fact, facts
from headscope.grounding.ground import ground
from tests.reading.test_conversation import scope_with
from tests.text.test_chat import TEMPLATES


@pytest.fixture(scope="module")
def scope() -> hs.Scope:
    return scope_with(TEMPLATES["chatml"], positions=4000)


def test_the_head_that_tells_gets_the_weight(scope, monkeypatch):
    chance = np.random.default_rng(0)

    def made(scope, fact):
        mass = chance.random((2, 4, len(fact.documents)))
        return mass, 5 * mass[1, 2] + chance.normal(0, 0.05, len(fact.documents))

    monkeypatch.setattr(learned, "_measured", made)
    found = learned.fit_head_weights(scope, progress=False)
    assert np.unravel_index(np.argmax(found.array), (2, 4)) == (1, 2)
    assert found.correlation > 0.9 and found.low <= found.correlation <= found.high
    monkeypatch.setattr(
        learned, "_measured",
        lambda s, f: (chance.random((2, 4, len(f.documents))), chance.random(len(f.documents))),
    )  # fmt: skip
    nothing = learned.fit_head_weights(scope, progress=False)
    assert abs(nothing.correlation) < 0.35


def test_weights_are_fitted_kept_and_used(scope, tmp_path):
    words = "cat dog mat store house tree red green blue one two three".split()
    asked = [
        Fact("plain", f"who {word} ?", (f"a {word} sat .", "he ran to it", f"{other} was fresh"),
             f"the {word} sat", (0,), word)
        for word, other in zip(words, words[1:] + words[:1], strict=True)
    ]  # fmt: skip
    found = hs.fit_head_weights(scope, asked, progress=False)
    assert found.questions == 12 and -1 <= found.correlation <= 1
    found.save(tmp_path / "weights.json")
    again = hs.HeadWeights.load(tmp_path / "weights.json")
    np.testing.assert_array_equal(again.array, found.array)
    documents = ["a cat sat .", "one two ."]
    result = ground(
        scope, "who ?", documents, "a cat", weights=tmp_path / "weights.json", most_heads=2
    )
    reading = scope.read(messages="who ?", documents=documents, answer="a cat")
    mass = reading.by_span(predicting=True).mean("query").to_numpy()
    expected = np.einsum("lh,lhs->s", found.array, mass)
    shown = result.by_source("learned").set_index("source")["value"]
    np.testing.assert_allclose(shown[["document 1", "document 2"]], expected, atol=1e-5)
    alone = again.by_source(scope, "who ?", documents, "a cat").set_index("source")["value"]
    np.testing.assert_allclose(alone[["document 1", "document 2"]], expected, atol=1e-5)
    assert alone.is_monotonic_decreasing
    with pytest.raises(BadInput, match="Give the documents"):
        again.by_source(scope, "who ?", [], "a cat")
    with pytest.raises(BadInput, match="were fitted on"):
        again.check(scope_with(TEMPLATES["chatml"], "GPT2LMHeadModel"))
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(BadInput, match="no head weights"):
        hs.HeadWeights.load(tmp_path / "bad.json")


def test_invented_facts_hold_what_they_say():
    every = facts(60, KINDS, seed=3)
    assert every == facts(60, KINDS, seed=3) and every != facts(60, KINDS, seed=4)
    for one in every:
        assert 3 <= len(one.documents) <= 10 and one.word in one.answer
        assert any(one.word in one.documents[at] for at in one.true)
        if one.kind in ("plain", "paraphrase", "short"):
            others = [d for at, d in enumerate(one.documents) if at not in one.true]
            assert not any(one.word in text for text in others)
