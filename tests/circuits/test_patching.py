"""Patching, held to plain hooks and to a circuit set by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import HeadscopeError
from tests.circuits.built import built_scope, induction_model
from tests.tiny import tiny_scope

CLEAN, CORRUPTED = "the cat sat on the red", "the dog ran on the red"
ANSWERS = ("house", "tree")
WHATS = ("heads", "weights", "values", "mlps", "layers")


def metric(scope: hs.Scope, logits: torch.Tensor) -> float:
    house, tree = (scope.tokenizer.convert_tokens_to_ids(word) for word in ANSWERS)
    return float(logits[0, -1, house] - logits[0, -1, tree])


@torch.no_grad()
def by_hand(scope: hs.Scope, layer: int, head: int, query: int | None) -> float:
    """One head's columns of the projection's input taken from the clean run, by a plain hook."""
    module = scope.model.model.layers[layer].self_attn.o_proj
    kept: list[torch.Tensor] = []
    own = slice(8 * head, 8 * head + 8)
    take = module.register_forward_pre_hook(lambda m, given: kept.append(given[0].clone()))
    clean = metric(scope, scope.model(scope.encode([CLEAN]).inputs["input_ids"]).logits)
    take.remove()

    def put(m, given):
        mixed = given[0].clone()
        rows = slice(None) if query is None else query
        mixed[:, rows, own] = kept[0][:, rows, own]
        return (mixed,)

    ids = scope.encode([CORRUPTED]).inputs["input_ids"]
    base = metric(scope, scope.model(ids).logits)
    handle = module.register_forward_pre_hook(put)
    patched = metric(scope, scope.model(ids).logits)
    handle.remove()
    return (patched - base) / (clean - base)


def test_a_patched_head_equals_its_columns_replaced_by_hand(tiny_llama) -> None:
    found = hs.circuits.patch(tiny_llama, CLEAN, CORRUPTED, ANSWERS)
    for layer, head in ((0, 0), (0, 3), (1, 2)):
        assert found.map("patch")[layer, head] == pytest.approx(
            by_hand(tiny_llama, layer, head, None), abs=1e-4
        )


def test_a_head_patched_at_one_token_equals_that_row_replaced_by_hand(tiny_llama) -> None:
    found = hs.circuits.patch(tiny_llama, CLEAN, CORRUPTED, ANSWERS, positions=True)
    for layer, head, query in ((0, 1, 2), (0, 2, 3), (1, 2, len(found.tokens) - 1)):
        value = found.map(f"patch:{query}")[layer, head]
        by_rows = by_hand(tiny_llama, layer, head, query)
        assert value == pytest.approx(by_rows, abs=1e-4)
    assert found.by_position().shape == (2, len(found.tokens))


@torch.no_grad()
def test_heads_of_a_family_read_at_its_softmax_are_patched_at_the_projection() -> None:
    scope = tiny_scope("BloomForCausalLM", n_layer=2, n_head=4, hidden_size=32)
    assert scope.read_at == "tap" and scope.description.reads_values
    found = hs.circuits.patch(scope, CLEAN, CORRUPTED, ANSWERS, method="both")
    ids = [scope.encode([text]).inputs["input_ids"] for text in (CLEAN, CORRUPTED)]
    module = scope.model.transformer.h[0].self_attention.dense
    kept: list[torch.Tensor] = []
    take = module.register_forward_pre_hook(lambda m, given: kept.append(given[0].clone()))
    clean = metric(scope, scope.model(ids[0]).logits)
    take.remove()

    def put(m, given):
        mixed = given[0].clone()
        mixed[..., 8:16] = kept[0][..., 8:16]  # head 1
        return (mixed,)

    base = metric(scope, scope.model(ids[1]).logits)
    handle = module.register_forward_pre_hook(put)
    patched = metric(scope, scope.model(ids[1]).logits)
    handle.remove()
    share = (patched - base) / (clean - base)
    assert found.map("patch")[0, 1] == pytest.approx(share, abs=1e-4)
    assert found.agreement > 0.5
    with pytest.raises(HeadscopeError, match="mixes its heads' outputs"):
        hs.circuits.patch(scope, CLEAN, CORRUPTED, ANSWERS, what="values")


def test_values_of_a_family_read_at_its_softmax_are_patched_where_they_can_be() -> None:
    """With one layer and equal weights, patched values are the patched heads."""
    sizes = {"num_hidden_layers": 1, "rotary_dim": 4, "n_positions": 64}
    scope = tiny_scope("GPTJForCausalLM", **sizes)
    with torch.no_grad():
        # every key is looked at alike, on either prompt
        scope.model.transformer.h[0].attn.q_proj.weight.zero_()
    heads, values = (
        hs.circuits.patch(scope, CLEAN, CORRUPTED, ANSWERS, what=what).map()
        for what in ("heads", "values")
    )
    assert np.abs(heads).max() > 1e-3
    np.testing.assert_allclose(heads, values, atol=1e-5)


@pytest.mark.parametrize("what", WHATS)
def test_the_same_prompt_patches_nothing(tiny_llama, what) -> None:
    found = hs.circuits.patch(tiny_llama, CLEAN, CLEAN, ANSWERS, what=what)
    assert np.abs(found.effects["patch"]).max() < 1e-5
    assert np.all(found.share() == 0)


@pytest.mark.parametrize("architecture", ["GPT2LMHeadModel", "BertForMaskedLM"])
def test_the_last_layer_brings_everything_back(architecture) -> None:
    clean, corrupted = "the cat sat on the [MASK]", "the dog ran on the [MASK]"
    scope = tiny_scope(architecture)
    found = hs.circuits.patch(scope, clean, corrupted, ANSWERS, what="layers")
    assert found.share()[-1] == pytest.approx(1.0, abs=1e-4)
    assert found.clean[0] != pytest.approx(found.corrupted[0])


def test_weights_and_values_together_make_the_heads_output() -> None:
    """With one layer, a head's whole patch is linear in weights at equal values."""
    scope = tiny_scope("LlamaForCausalLM", num_hidden_layers=1, num_key_value_heads=2)
    heads, weights, values = (
        hs.circuits.patch(scope, CLEAN, CORRUPTED, ANSWERS, what=what).map()
        for what in ("heads", "weights", "values")
    )
    assert not np.allclose(weights, 0, atol=1e-4) and not np.allclose(values, 0, atol=1e-4)
    assert not np.allclose(heads, weights, atol=1e-4)


def test_an_induction_circuit_set_by_hand_is_found() -> None:
    scope = built_scope(induction_model(), "induction", bare=True)
    clean, corrupted = "red cat dog mat cat", "red cat tree mat cat"
    found = hs.circuits.patch(scope, clean, corrupted, ("dog", "tree"), method="both")
    assert found.clean[0] > 9 and found.corrupted[0] < -9
    assert found.map("patch").values == pytest.approx(np.array([[0, 0], [1.0, 0]]), abs=0.02)
    # without "cat" before "dog" nothing is found; head 0-0 tells 1-0 so through its keys
    clean, corrupted = "red cat dog mat cat", "red the dog mat cat"
    sent = [
        hs.circuits.path_patch(scope, clean, corrupted, "dog", sender=(0, 0), through=through)
        for through in ("q", "k", "v")
    ]
    assert sent[1].map("path").values[1] == pytest.approx([1.0, 0.0], abs=0.02)
    assert max(abs(one.map("path")[1, 0]) for one in (sent[0], sent[2])) < 0.02
    assert all(abs(one.direct) < 1e-6 for one in sent)


def test_for_a_small_change_the_estimate_is_the_exact_patch() -> None:
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=2)
    cat, dog, sat, ran = (
        scope.tokenizer.convert_tokens_to_ids(word) for word in ("cat", "dog", "sat", "ran")
    )
    torch.manual_seed(0)
    with torch.no_grad():
        words = scope.model.model.embed_tokens.weight
        words[dog] = words[cat] + 1e-4 * torch.randn(32)
        words[ran] = words[sat] + 1e-4 * torch.randn(32)
    scope.model.double()
    for what in ("heads", "mlps", "layers"):
        found = hs.circuits.patch(scope, CLEAN, CORRUPTED, ANSWERS, what=what, method="both")
        assert found.share("patch") == pytest.approx(
            found.share("patch_estimate"), rel=2e-2, abs=1e-3
        )
        assert what == "layers" or found.agreement > 0.9


def test_many_pairs_have_intervals_and_corrected_chances(tiny_gpt2) -> None:
    words = ("cat", "dog", "tree", "house", "mat", "store")
    pairs = [(f"the {a} sat on the", f"the {b} sat on the") for a in words for b in words if a < b]
    clean, corrupted = zip(*pairs, strict=True)
    found = hs.circuits.patch(tiny_gpt2, clean, corrupted, [("red", "blue")] * len(pairs))
    table = found.table
    assert table["count"].unique().tolist() == [15]
    assert (table["low"] <= table["high"]).all() and (table["p_holm"] >= table["p"]).all()


def test_ready_tasks_make_pairs_of_equal_length_and_survive_a_file(tmp_path, tiny_gpt2) -> None:
    for name in ("names", "years", "agreement"):
        made = hs.circuits.task(name, n=20, seed=1)
        assert len(made) == 20 and made == hs.circuits.task(name, n=20, seed=1)
        assert all(pair.clean != pair.corrupted for pair in made.pairs)
        made.save(tmp_path / f"{name}.jsonl")
        assert hs.circuits.read_pairs(tmp_path / f"{name}.jsonl") == made


def test_a_pair_whose_answer_is_no_text_is_named_by_its_line(tmp_path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"clean": "a", "corrupted": "b", "answer": 2.5}\n')
    with pytest.raises(hs.BadInput, match=r"Line 1 of .* has no text as 'answer'"):
        hs.circuits.read_pairs(path)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda s: hs.circuits.patch(s, "the cat", "the cat sat", "red"), "same length"),
        (lambda s: hs.circuits.patch(s, "the cat", "the dog"), "Give the answers"),
        (lambda s: hs.circuits.patch(s, ["a"], ["a", "the"], "red"), "the same number of both"),
        (lambda s: hs.circuits.patch(s, "the cat", "the dog", "straw berries"), "2 tokens"),
        (lambda s: hs.circuits.patch(s, CLEAN, CORRUPTED, -3), "no answer -3; they are 0 to 63"),
        (lambda s: hs.circuits.patch(s, CLEAN, CORRUPTED, ("red", -1)), "no answer -1"),
        (lambda s: hs.circuits.patch(s, CLEAN, CORRUPTED, 10**9), "no answer 1000000000"),
        (lambda s: hs.circuits.patch(s, CLEAN, CORRUPTED, ("red", "red")), "are the same token"),
        (lambda s: hs.circuits.patch(s, CLEAN, CORRUPTED, [2.5]), "Give the answers"),
        (lambda s: hs.circuits.patch(s, CLEAN, CORRUPTED, "red", what="souls"), "what= is"),
        (lambda s: hs.circuits.task("sums"), "names, years, agreement"),
        (lambda s: hs.circuits.read_pairs("nowhere.jsonl"), "no file"),
    ],
)
def test_misuse_is_told_in_one_sentence(tiny_gpt2, call, sentence) -> None:
    with pytest.raises(hs.BadInput, match=sentence):
        call(tiny_gpt2)


def test_what_a_model_cannot_do_is_told_in_one_sentence(tiny_bert) -> None:
    with pytest.raises(hs.BadInput, match="no output layer"):
        hs.circuits.patch(tiny_scope("BertModel"), CLEAN, CORRUPTED, ANSWERS)
    with pytest.raises(hs.BadInput, match=r"put \[MASK\] into the prompt"):
        hs.circuits.patch(tiny_bert, CLEAN, CORRUPTED, ANSWERS)
    with pytest.raises(hs.BadInput, match="below the last layer"):
        hs.circuits.path_patch(tiny_bert, CLEAN, CORRUPTED, ANSWERS, sender=(1, 0))
    with pytest.raises(hs.BadInput, match="all have the same length"):
        hs.circuits.patch(
            tiny_scope("GPT2LMHeadModel"), ["the cat", "the cat sat"], ["the dog", "the dog sat"],
            "red", positions=True,
        )  # fmt: skip


@pytest.mark.slow
def test_the_estimate_ranks_the_heads_of_smollm2_as_exact_patches_do(smollm2) -> None:
    pairs = hs.circuits.task("names", n=3).fitting(smollm2)
    found = hs.circuits.patch(smollm2, pairs, method="both", progress=False)
    assert (found.clean > found.corrupted).all()
    assert found.agreement > 0.8
    best = {tuple(row) for row in found.top("patch", 5)[["layer", "head"]].to_numpy()}
    likely = {tuple(row) for row in found.top("patch_estimate", 10)[["layer", "head"]].to_numpy()}
    assert len(best & likely) >= 4
