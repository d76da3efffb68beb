"""What is wrong with a model itself is noticed on a few tokens, and said."""

from __future__ import annotations

import pytest
import torch
import transformers

import headscope as hs
from headscope.errors import PaddingShows
from tests.contracts.families import FAMILIES, Family
from tests.contracts.family_models import build
from tests.contracts.sizes import usual
from tests.tiny import spread, tiny_scope, tiny_tokenizer

SHORT, LONG = "the cat sat", "the cat sat on the mat and the dog ran to the store"


def named(name: str) -> hs.Scope:
    family = next(one for one in FAMILIES if one.name == name)
    return hs.load(build(family), tiny_tokenizer(), name=name)


def aimv2(implementation: str) -> transformers.Aimv2TextModel:
    """Under sdpa, transformers' AIMv2 reads text both ways; its eager code only looks back."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    configuration = transformers.Aimv2TextConfig(
        vocab_size=64, intermediate_size=64, max_position_embeddings=64, eos_token_id=2, **sizes
    )
    torch.manual_seed(0)
    model = transformers.Aimv2TextModel._from_config(
        configuration, attn_implementation=implementation
    ).eval()
    spread(model)
    return model


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("lazy", [True, False])
@torch.no_grad()
def test_capture_follows_what_the_model_runs(implementation: str, lazy: bool) -> None:
    model = aimv2(implementation)
    ids = torch.tensor([[5, 6, 7, 8, 9, 2]])
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    plain = model(**given).last_hidden_state
    future: list[float] = []
    scope = hs.load(model, tiny_tokenizer(), name="AIMv2")
    with scope.capture(lambda call: future.append(float(call.weights.triu(1).max())), lazy=lazy):
        seen = model(**given).last_hidden_state
    torch.testing.assert_close(seen, plain, atol=1e-4, rtol=0)
    assert (max(future) > 0.01) == (implementation == "sdpa")


def test_a_model_whose_two_codes_differ_is_said_to() -> None:
    differing, alike = named("Falcon, ALiBi"), tiny_scope("BertModel")
    assert any("eager code of Falcon" in one for one in differing.read(SHORT).warnings)
    assert not alike.read(SHORT).warnings


def test_padding_that_shows_is_warned_of_in_batches_and_surveys() -> None:
    scope = named("ConvBERT")
    both = scope.read_batch([SHORT, LONG])
    assert all(any("padding" in one for one in reading.warnings) for reading in both)
    assert not scope.read(SHORT).warnings
    with pytest.warns(PaddingShows, match="read texts of one length"):
        hs.survey(scope, [SHORT, LONG], ["entropy"], progress=False)
    assert not any(
        reading.warnings for reading in tiny_scope("BertModel").read_batch([SHORT, LONG])
    )


def test_lilt_has_as_many_layers_as_it_has() -> None:
    lilt = build(Family("LiLT", "LiltModel", usual(hidden_size=48, channel_shrink_ratio=2)))
    scope = hs.load(lilt, tiny_tokenizer(), name="LiLT")
    assert scope.layers == {"encoder": 2}
    inputs = scope.encode([SHORT])
    own = lilt(**scope.accepted(inputs.inputs), output_attentions=True).attentions
    found = scope.read(SHORT).part()
    for layer in range(2):
        torch.testing.assert_close(
            torch.tensor(found.weights(layer)), own[layer][0], atol=1e-5, rtol=0
        )
    edited = scope.without(layers=[0]).forward(inputs)  # text and layout alike
    assert torch.isfinite(edited.last_hidden_state).all()
