"""ALBERT, which runs one module as every layer, held to an untied model of the same weights."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.circuits.unrolled import unrolled
from tests.contracts.families import FAMILIES
from tests.contracts.family_models import build
from tests.tiny import tiny_model, tiny_scope, tiny_tokenizer

CLEAN, CORRUPTED = "the cat sat on the [MASK]", "the dog ran on the [MASK]"
SIZES = {"num_hidden_layers": 3, "embedding_size": 16}


@pytest.fixture(scope="module")
def shared() -> hs.Scope:
    return tiny_scope("AlbertForMaskedLM", **SIZES)


@pytest.fixture(scope="module")
def untied(shared: hs.Scope) -> hs.Scope:
    """As many groups as layers, each filled with the one group's weights."""
    model = tiny_model("AlbertForMaskedLM", num_hidden_groups=3, **SIZES)
    own = shared.model.state_dict()
    model.load_state_dict({name: own[_first(name)] for name in model.state_dict()})
    return hs.load(model, tiny_tokenizer(), name="untied")


def _first(name: str) -> str:
    before, _, after = name.partition("albert_layer_groups.")
    return f"{before}albert_layer_groups.0.{after.split('.', 1)[1]}" if after else name


def test_the_parts_of_a_logit_are_those_of_the_untied_model(shared, untied) -> None:
    one, other = (hs.attribute(scope, CLEAN, target="house") for scope in (shared, untied))
    values = [[part.value for part in made.parts] for made in (one, other)]
    assert {part.layer for part in one.parts} >= {0, 1, 2}
    np.testing.assert_allclose(*values, atol=1e-5)
    assert one.value == pytest.approx(float(other.value), abs=1e-5)


def test_every_layer_is_patched_apart(shared, untied) -> None:
    maps = [
        hs.circuits.patch(scope, CLEAN, CORRUPTED, ("house", "tree")).map()
        for scope in (shared, untied)
    ]
    assert maps[0].shape == (3, 4)
    np.testing.assert_allclose(*maps, atol=1e-4)
    assert np.abs(maps[0][0] - maps[0][1]).max() > 1e-3


def test_nothing_of_the_model_is_changed_or_doubled(shared) -> None:
    layered = unrolled(shared)
    assert unrolled(layered) is layered
    assert len(shared.model.albert.encoder.albert_layer_groups) == 1
    assert shared.model.config.num_hidden_groups == 1
    owned = {id(one) for one in shared.model.parameters()}
    assert {id(one) for one in layered.model.parameters()} == owned
    edited = dataclasses.replace(shared, edits=shared.without([(1, 0)]).edits)
    inputs = shared.encode([CLEAN])
    torch.testing.assert_close(
        unrolled(edited).forward(inputs).logits, edited.forward(inputs).logits, atol=1e-5, rtol=0
    )


def test_a_model_that_pools_its_tokens_is_refused_in_a_sentence() -> None:
    funnel = next(family for family in FAMILIES if family.name == "Funnel")
    scope = hs.load(build(funnel), tiny_tokenizer(), name="Funnel")
    with pytest.raises(hs.HeadscopeError, match="cannot be cut into layers"):
        hs.attribute(scope, CLEAN, target="house")
