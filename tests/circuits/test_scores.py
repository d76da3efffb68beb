"""A score decomposed by writers sums to q·k, in every family that shows its queries and keys."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.circuits.scores.score import score
from headscope.errors import BadInput
from tests.tiny import spread, tiny_scope

TEXT = "the cat sat on the mat and the dog ran to the house"
GROUPED = {"num_key_value_heads": 2, "head_dim": 8, "num_hidden_layers": 4}
FAMILIES = {
    "GPT2LMHeadModel": {"n_layer": 4},
    "LlamaForCausalLM": {"num_key_value_heads": 2, "num_hidden_layers": 4},
    "Qwen3ForCausalLM": GROUPED,
    "Gemma2ForCausalLM": GROUPED,
    "Gemma3ForCausalLM": GROUPED,
    "GPTNeoXForCausalLM": {"num_hidden_layers": 4},
    "BertForMaskedLM": {"num_hidden_layers": 4},
    "GraniteForCausalLM": {"num_hidden_layers": 3, "num_key_value_heads": 2},
    "Olmo2ForCausalLM": {"num_hidden_layers": 3},
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("relative_to", [None, 1, "mean"])
def test_parts_sum_to_the_score_of_the_models_own_q_and_k(family, relative_to):
    scope = tiny_scope(family, **FAMILIES[family])
    spread(scope.model)
    (kind,) = scope.kinds
    layer = scope.layers[kind] - 1
    found = score(scope, TEXT, layer, 1, 8, 4, relative_to=relative_to)
    calls = []
    batch = scope.encode([TEXT])
    scope.forward(batch.inputs, calls.append)
    call = next(one for one in calls if one.layer == layer)
    q = call.q[0, 1, 8].double()
    keys = call.k[0, 1 // (call.heads // call.groups)].double()
    scores = call.scaling * (keys @ q)
    expected = scores[4]
    if relative_to == "mean":
        seen = scores if kind == "encoder" else scores[:9]
        expected = scores[4] - seen.mean()
    elif relative_to is not None:
        expected = scores[4] - scores[relative_to]
    largest = np.abs(found.parts).max()
    assert abs(found.parts.sum() - float(expected)) < 1e-4 * largest
    assert found.weight == pytest.approx(float(call.weights[0, 1, 8, 4]), abs=1e-5)


def test_a_relative_bias_is_a_part_of_its_own():
    scope = tiny_scope("T5ForConditionalGeneration", num_layers=3)
    spread(scope.model)
    found = score(scope, TEXT, 2, 1, -1, 2, text_pair=TEXT)
    calls = []
    from headscope.reading.decoder_text import encode_both

    batch, _ = encode_both(scope, [TEXT], [TEXT])
    scope.forward(batch.inputs, calls.append)
    call = next(one for one in calls if (one.kind, one.layer) == ("decoder", 2))
    whole = call.scaling * float(call.q[0, 1, -1].double() @ call.k[0, 1, 2].double())
    assert found.positional_bias == pytest.approx(float(call.bias[0, 1, -1, 2]), abs=1e-6)
    assert found.parts.sum() == pytest.approx(whole, abs=1e-4 * np.abs(found.parts).max())


def test_a_key_the_query_does_not_see_is_refused():
    scope = tiny_scope("GPT2LMHeadModel")
    with pytest.raises(BadInput, match="does not see key 6"):
        score(scope, TEXT, 1, 0, 3, 6)
    with pytest.raises(BadInput, match="There is no token 99"):
        score(scope, TEXT, 1, 0, 3, 99)
    with pytest.raises(BadInput, match="There is no layer 7"):
        score(scope, TEXT, 7, 0, 3, 2)
