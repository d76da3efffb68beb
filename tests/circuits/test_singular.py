"""Singular vectors of a head's circuits, held to the whole matrices and to a planted direction."""

from __future__ import annotations

import pytest
import torch

import headscope as hs
from headscope.circuits.weights.matrices import head_weights, vocabulary
from headscope.circuits.weights.singular import directions
from headscope.errors import BadInput
from tests.tiny import tiny_scope


def test_directions_make_the_whole_matrix_again_with_grouped_queries():
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=2)
    attention = scope.model.model.layers[1].self_attn
    gain = scope.model.model.layers[1].input_layernorm.weight.detach().double()
    q, k = (one.weight.detach().double() for one in (attention.q_proj, attention.k_proj))
    of = head_weights(scope).layers[1]
    for head, group in ((0, 0), (1, 0), (2, 1), (3, 1)):
        own, shared = q[8 * head : 8 * head + 8], k[8 * group : 8 * group + 8]
        whole = (gain[:, None] * own.T) @ (shared * gain)
        found = directions(of.q[head], of.k[head])
        made = found.left @ torch.diag(found.values) @ found.right.T
        assert torch.allclose(made, whole, atol=1e-6)
        exact = torch.linalg.svdvals(whole)[:8]
        assert torch.allclose(found.values, exact, atol=1e-6)


@pytest.fixture
def planted():
    """Head 1-2 reads one token's embedding and writes towards another token's logit."""
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=4)
    into, out = vocabulary(scope)
    seen, raised = scope.tokenizer.convert_tokens_to_ids(["cat", "mat"])
    attention = scope.model.model.layers[1].self_attn
    with torch.no_grad():
        attention.v_proj.weight[16] += 20 * into[seen] / into[seen].norm()
        attention.o_proj.weight[:, 16] += 20 * out[raised] / out[raised].norm()
    return scope


def test_a_planted_direction_is_found_with_its_tokens(planted):
    found = hs.circuits.singular(planted, 1, 2, "ov", n=2)
    first = found.iloc[0]
    ends = {(first["left"][0], first["right"][0]),
            (first["left_opposite"][0], first["right_opposite"][0])}  # fmt: skip
    assert ("cat", "mat") in ends
    assert first["share"] > 0.95


def test_a_text_uses_the_direction_that_carries_what_its_head_moves(planted):
    found = hs.circuits.singular(planted, 1, 2, "ov", n=8, text="the cat sat on the mat")
    assert found["used"].sum() == pytest.approx(1.0)
    assert found["used"].idxmax() == 0
    match = hs.circuits.singular(planted, 1, 2, "qk", n=8, text="the cat sat on the mat")
    assert match["used"].sum() == pytest.approx(1.0)
    with pytest.raises(BadInput, match="circuit= is 'qk' or 'ov'"):
        hs.circuits.singular(planted, 1, 2, "vo")
