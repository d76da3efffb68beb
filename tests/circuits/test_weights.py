"""Heads by their weights alone, held to the model's own matrices and to built models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.circuits.weights.matrices import head_weights, vocabulary
from tests.circuits.built import built_scope, copying_model, induction_model
from tests.tiny import tiny_scope


def test_matrices_are_the_projections_seen_through_the_norm(tiny_llama) -> None:
    layer = tiny_llama.model.model.layers[1]
    found = head_weights(tiny_llama).layers[1]
    gain = layer.input_layernorm.weight.detach()
    for head in range(4):
        own, shared = slice(8 * head, 8 * head + 8), slice(8 * (head // 2), 8 * (head // 2) + 8)
        q = gain[:, None] * layer.self_attn.q_proj.weight[own].T
        v = gain[:, None] * layer.self_attn.v_proj.weight[shared].T
        o = layer.self_attn.o_proj.weight[:, own].T
        assert torch.allclose(found.q[head], q, atol=1e-5)
        assert torch.allclose(found.v[head], v, atol=1e-5)
        assert torch.allclose(found.o[head], o, atol=1e-6)


def test_fused_matrices_and_biases_of_gpt2_come_apart(tiny_gpt2) -> None:
    attention = tiny_gpt2.model.transformer.h[0].attn
    with torch.no_grad():
        attention.c_attn.bias.normal_()
    found = head_weights(tiny_gpt2).layers[0]
    k = attention.c_attn.weight[:, 32:64].detach()
    k = k - k.mean(0)  # a centred norm cannot see what is common to all directions
    assert torch.allclose(found.k.transpose(0, 1).reshape(32, 32), k, atol=1e-5)
    assert torch.allclose(found.k_bias.flatten(), attention.c_attn.bias[32:64], atol=1e-5)
    with torch.no_grad():
        attention.c_attn.bias.zero_()


@pytest.mark.parametrize(
    ("architecture", "norm"),
    [("LlamaForCausalLM", "model.norm"), ("GPT2LMHeadModel", "transformer.ln_f")],
)
def test_logits_are_read_through_the_gain_of_the_last_norm(architecture, norm) -> None:
    scope = tiny_scope(architecture)
    gain = scope.model.get_submodule(norm).weight
    with torch.no_grad():
        gain.uniform_(0.5, 2.0)
    wanted = scope.model.get_output_embeddings().weight.detach() * gain.detach()
    if architecture == "GPT2LMHeadModel":
        wanted = wanted - wanted.mean(-1, keepdim=True)
    assert torch.allclose(vocabulary(scope)[1], wanted, atol=1e-5)


def test_a_transform_before_the_output_layer_is_said_to_be_left_out(tiny_bert) -> None:
    assert "transform before the output layer" in hs.circuits.copying(tiny_bert).note


def test_a_head_that_is_the_identity_copies_and_its_negative_suppresses() -> None:
    found = hs.circuits.copying(built_scope(copying_model(), "copies"))
    assert found.map("copying").values == pytest.approx(np.array([[1.0, -1.0]]), abs=1e-5)


def test_the_small_product_has_the_eigenvalues_of_the_full_circuit(tiny_gemma) -> None:
    weights, (into, out) = head_weights(tiny_gemma), vocabulary(tiny_gemma)
    found = hs.circuits.copying(tiny_gemma).map("copying")
    for layer, head in ((0, 0), (1, 3)):
        one = weights.layers[layer]
        full = (into @ one.v[head] @ one.o[head] @ out.T).double()
        values = torch.linalg.eigvals(full)
        score = float(values.real.sum() / values.abs().sum())
        assert found[layer, head] == pytest.approx(score, abs=1e-4)


def test_composition_is_the_ratio_of_norms_of_whole_matrices(tiny_llama) -> None:
    weights = head_weights(tiny_llama)
    found = hs.circuits.composition(tiny_llama)
    early, late = weights.layers
    for a, b in ((0, 1), (3, 2)):
        ov = early.v[a] @ early.o[a]
        qk = late.q[b] @ late.k[b].T
        for name, reads in (("q", qk), ("k", qk.T), ("v", late.v[b] @ late.o[b])):
            score = (ov @ reads).norm() / (ov.norm() * reads.norm())
            assert found.scores[name][0, a, 1, b] == pytest.approx(float(score), rel=1e-3)


def test_an_induction_circuit_is_seen_as_composition_through_keys() -> None:
    found = hs.circuits.composition(built_scope(induction_model(), "induction"))
    best = found.pairs("k", 1).iloc[0]
    assert (best.from_layer, best.from_head, best.layer, best["head"]) == (0, 0, 1, 0)
    assert best.above_random > 10
    assert found.scores["k"][0, 0, 1, 0] > 3 * np.nanmax(np.nan_to_num(found.scores["q"]))


def test_strongest_tokens_are_those_of_the_whole_product(tiny_llama) -> None:
    weights, (into, out) = head_weights(tiny_llama), vocabulary(tiny_llama)
    one = weights.layers[0]
    whole = into @ one.v[2] @ one.o[2] @ out.T
    best = hs.circuits.ov_tokens(tiny_llama, 0, 2, n=3)
    assert best["value"].tolist() == pytest.approx(whole.flatten().topk(3).values.tolist())
    cat = tiny_llama.tokenizer.convert_tokens_to_ids("cat")
    asked = hs.circuits.qk_tokens(tiny_llama, 0, 1, "cat", n=2)
    scores = (into[cat] @ one.q[1]) @ (into @ one.k[1]).T
    assert asked["value"].tolist() == pytest.approx(scores.topk(2).values.tolist(), rel=1e-4)


def test_a_model_without_words_or_matrices_is_refused_in_one_sentence() -> None:
    with pytest.raises(hs.BadInput, match="no output layer of words"):
        hs.circuits.copying(tiny_scope("BertModel"))
    with pytest.raises(hs.HeadscopeError, match="cannot be read as matrices"):
        hs.circuits.copying(tiny_scope("BloomForCausalLM", n_layer=2, n_head=4, hidden_size=32))
    with pytest.raises(hs.BadInput, match="no head 9-0"):
        hs.circuits.ov_tokens(tiny_scope("GPT2LMHeadModel"), 9, 0)


def test_what_a_head_looks_for_has_the_shift_of_its_norm() -> None:
    scope = tiny_scope("GPT2LMHeadModel")
    block: Any = scope.model.transformer.h[1]
    torch.manual_seed(0)
    torch.nn.init.normal_(block.ln_1.weight)
    torch.nn.init.normal_(block.ln_1.bias)
    torch.nn.init.normal_(block.attn.c_attn.bias)
    embedded = scope.model.transformer.wte.weight.detach()
    read = (embedded - embedded.mean(-1, keepdim=True)) * block.ln_1.weight + block.ln_1.bias
    q, k, _ = (read @ block.attn.c_attn.weight + block.attn.c_attn.bias).detach().split(32, -1)
    expected = q[:, 16:24] @ k[:, 16:24].T  # head 2 of 4
    found = hs.circuits.qk_tokens(scope, 1, 2, n=5)
    np.testing.assert_allclose(found["value"], expected.flatten().topk(5).values, rtol=1e-3)
