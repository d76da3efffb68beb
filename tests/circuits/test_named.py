"""Named heads on models built to have them, and what chance scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from tests.circuits.built import WIDTH, built_scope, copying_model
from tests.tiny import tiny_scope


def test_a_head_that_is_minus_the_identity_suppresses_what_it_sees() -> None:
    scope = built_scope(copying_model((1.0, -1.0)), "built")
    found = hs.circuits.named(scope, ["copy_suppression"])
    assert found.map("copy_suppression")[0] == pytest.approx([0.0, 1.0])
    assert found.table["null"].iloc[0] == pytest.approx(10 / WIDTH)


def test_a_head_that_moves_every_token_one_on_is_a_successor() -> None:
    model = copying_model((1.0, 1.0))
    scope = built_scope(model, "built")
    one, two, three = (scope.tokenizer.convert_tokens_to_ids(w) for w in ("one", "two", "three"))
    with torch.no_grad():
        on = torch.eye(WIDTH)
        on[[one, two, three]] = 0
        on[one, two] = on[two, three] = on[three, one] = 1.0
        model.model.layers[0].self_attn.o_proj.weight[:, :WIDTH] = on.T
    found = hs.circuits.named(scope, ["successor"])
    assert found.map("successor")[0, 0] == 1.0
    assert found.table["null"].iloc[0] == pytest.approx(0.5)


def test_a_head_that_looks_back_by_one_is_positional() -> None:
    from tests.circuits.built import induction_model

    scope = built_scope(induction_model(), "induction", bare=True)
    texts = ["cat dog mat red", "red cat the dog", "the mat sat on cat"]
    found = hs.circuits.named(scope, ["positional"], texts=texts).map("positional")
    assert found[0, 0] > 0.7  # the first query of a text can only look at itself


def test_massive_activations_are_seen_where_they_begin(tiny_gpt2) -> None:
    from headscope.circuits.names.by_text import massive_activations

    scope = tiny_scope("GPT2LMHeadModel")
    with torch.no_grad():
        scope.model.transformer.h[1].mlp.c_proj.bias[3] = 1e4
    found = massive_activations(scope, "the cat sat on the mat")
    assert found[0] < 100 and found[1] > 1000


def test_misuse_is_told_in_one_sentence(tiny_bert, tiny_gpt2) -> None:
    with pytest.raises(hs.BadInput, match="no head called"):
        hs.circuits.named(tiny_gpt2, ["janitor"])
    with pytest.raises(hs.BadInput, match="does not continue text"):
        hs.circuits.named(tiny_bert, ["name_mover"])
    with pytest.raises(hs.BadInput, match="does not"):
        hs.circuits.named(tiny_bert, ["retrieval"])
    with pytest.raises(hs.BadInput, match="more than one"):
        hs.circuits.named(tiny_gpt2, ["positional"], texts=["the cat"])


@pytest.mark.slow
def test_smollm2_has_retrieval_heads_that_random_heads_cannot_replace(smollm2) -> None:
    from headscope.circuits.names.retrieval import retrieval, retrieval_test

    scores, chance = retrieval(smollm2, n=6, sentences=4)
    best = np.argsort(-scores, axis=None)[:10]
    heads = [(int(at) // scores.shape[1], int(at) % scores.shape[1]) for at in best]
    assert scores.max() > 10 * chance
    whole, without, random_heads = retrieval_test(smollm2, heads, n=6, draws=2)
    assert whole - without > 2 * (whole - random_heads)
