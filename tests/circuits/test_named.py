"""Named heads on models built to have them, and what chance scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from tests.circuits.built import WIDTH, built_scope, copying_model, task_scope
from tests.tiny import tiny_scope


def test_a_head_that_is_minus_the_identity_suppresses_what_it_sees() -> None:
    scope = built_scope(copying_model((1.0, -1.0)), "built")
    found = hs.circuits.named(scope, ["copy_suppression"])
    assert found.map("copy_suppression").values[0] == pytest.approx([0.0, 1.0])
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
    named = hs.circuits.named(scope, ["positional"], texts=texts)
    found, chance = named.map("positional"), named.table["null"].iloc[0]
    assert found[0, 0] > 0.7  # the first query of a text can only look at itself
    assert 0.3 < chance < 0.7  # of four words, one or two of which can only be seen so
    assert found[0, 0] > chance


def test_heads_that_look_anywhere_score_what_chance_is_said_to() -> None:
    """Counted again, query by query, for many heads at random."""
    from headscope.circuits.names.by_text import OFFSETS, _random_looks

    luck = np.random.default_rng(5)
    scores = []
    for _ in range(400):
        away = [int(luck.integers(0, i + 1)) - i for length in (5, 9) for i in range(length)]
        near = [away.count(offset) for offset in range(-OFFSETS, OFFSETS + 1)]
        scores.append(max(near) / 14)
    assert _random_looks([5, 9], True, 0) == pytest.approx(np.mean(scores), abs=0.02)


def test_a_head_that_looks_for_the_rarest_word_is_a_rare_word_head() -> None:
    model = copying_model((1.0, 1.0))
    scope = built_scope(model, "built", bare=True)
    slow = WIDTH // 2 - 1  # a neuron that rotary positions hardly turn
    attention = model.model.layers[0].self_attn
    with torch.no_grad():
        attention.q_proj.weight[slow] = 1.0  # of head 0: whatever the token
        attention.k_proj.weight[slow, scope.tokenizer.convert_tokens_to_ids("tree")] = 100.0
    texts = ["tree the cat the cat", "the tree cat the dog dog", "tree dog the dog cat"]
    found = hs.circuits.named(scope, ["rare_word"], texts=texts)
    assert found.map("rare_word")[0, 0] == 1.0
    assert found.table["null"].iloc[0] == pytest.approx(np.mean([1 / 5, 1 / 6, 1 / 5]))


def test_a_head_that_copies_moves_names_and_its_negative_holds_them_back() -> None:
    scope = task_scope((1.0, -1.0), "names")
    found = hs.circuits.named(scope, ["name_mover"], n=8)
    moved = found.map("name_mover").values[0]
    assert moved[0] > 0.1 and moved[1] == pytest.approx(-moved[0], rel=1e-3)
    assert np.abs(found.table["null"]).max() < 1e-5  # words that are no name move no name
    errors = found.table["error"]
    assert (np.abs(found.table["value"]) > 4 * errors).all()


def test_massive_activations_are_seen_where_they_begin(tiny_gpt2) -> None:
    from headscope.circuits.names.by_text import massive_activations

    scope = tiny_scope("GPT2LMHeadModel")
    with torch.no_grad():
        scope.model.transformer.h[1].mlp.c_proj.bias[3] = 1e4
    found = massive_activations(scope, "the cat sat on the mat")
    assert found[0] < 100 and found[1] > 1000
    table = hs.circuits.named(scope, ["massive_activation"], texts=["the cat sat on the mat"]).table
    assert table["value"].tolist() == pytest.approx(found.tolist())
    assert table["head"].isna().all() and 3 < table["null"].iloc[0] < 10


def test_misuse_is_told_in_one_sentence(tiny_bert, tiny_gpt2) -> None:
    with pytest.raises(hs.BadInput, match="no head called"):
        hs.circuits.named(tiny_gpt2, ["janitor"])
    with pytest.raises(hs.BadInput, match="models that continue text"):
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
