"""A layer's number is the model's own, also where only some layers attend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import AttentionNotRead, BadInput
from tests.tiny import tiny_model, tiny_scope, tiny_tokenizer

MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_d_state": 4}
EXPERTS = {"num_experts": 2, "num_experts_per_tok": 1}

HYBRIDS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "JambaForCausalLM": (
        {
            "num_hidden_layers": 4,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "mamba_d_state": 4,
            "mamba_d_conv": 2,
            "mamba_expand": 1,
            "mamba_dt_rank": 4,
            **EXPERTS,
        },
        (1, 3),
    ),
    "Qwen3NextForCausalLM": (
        {
            "num_hidden_layers": 4,
            "head_dim": 8,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
            "moe_intermediate_size": 16,
            "shared_expert_intermediate_size": 16,
            **EXPERTS,
        },
        (3,),
    ),
    "BambaForCausalLM": ({"num_hidden_layers": 3, "attn_layer_indices": [1], **MAMBA}, (1,)),
    "FalconH1ForCausalLM": ({"mamba_d_ssm": 64, "head_dim": 8, **MAMBA}, (0, 1)),
    "Lfm2ForCausalLM": (
        {"num_hidden_layers": 4, "layer_types": ["conv", "full_attention"] * 2},
        (1, 3),
    ),
}


@pytest.mark.parametrize("family", HYBRIDS)
def test_a_layer_of_a_hybrid_model_has_the_models_own_number(family: str) -> None:
    sizes, numbers = HYBRIDS[family]
    scope = tiny_scope(family, num_key_value_heads=2, **sizes)
    assert scope.layer_numbers == {"decoder": numbers}
    reading = scope.read("the cat sat on the mat")
    assert reading.part().numbers == numbers
    eager = tiny_model(family, num_key_value_heads=2, **sizes)
    eager.set_attn_implementation("eager")
    seen: dict[int, np.ndarray] = {}

    def keep(number: int) -> Any:
        def hook(module: Any, arguments: Any, output: Any) -> None:
            seen[number] = output[1][0].numpy()

        return hook

    for number in numbers:  # each layer's own attention module, found by its place in the model
        eager.model.layers[number].self_attn.register_forward_hook(keep(number))
    with torch.no_grad():
        eager(input_ids=scope.encode(["the cat sat on the mat"]).inputs["input_ids"])
    for number in numbers:
        np.testing.assert_allclose(reading.part().weights(number), seen[number], atol=2e-6)


def test_a_layer_without_attention_cannot_be_asked_for() -> None:
    scope = tiny_scope("JambaForCausalLM", num_key_value_heads=2, **HYBRIDS["JambaForCausalLM"][0])
    with pytest.raises(BadInput, match=r"There is no layer 2; .* has layers 1, 3\."):
        scope.read("the cat", layers=[2])
    with pytest.raises(BadInput, match="no decoder layer 0 that attends"):
        scope.without([(0, 0)])
    changed = scope.without([(3, 1)]).read("the cat sat")
    row = changed.attention.sel(layer=3, head=1)[2]
    np.testing.assert_allclose(row, [1 / 3, 1 / 3, 1 / 3, 0, 0], atol=1e-6)
    survey = hs.survey(scope, ["the cat sat on the mat", "he said that it was red"])
    assert sorted(survey.table["layer"].unique()) == [1, 3]
    assert np.isnan(survey.map("entropy")[[0, 2]]).all()


def test_differential_attention_is_one_layer_of_its_own_heads() -> None:
    sizes = {"num_key_value_heads": 4, "num_hidden_layers": 2}
    scope = tiny_scope("DiffLlamaForCausalLM", **sizes)
    assert scope.layers == {"decoder": 2}
    eager = tiny_model("DiffLlamaForCausalLM", **sizes)
    eager.set_attn_implementation("eager")
    batch = scope.encode(["the cat sat on the mat"])
    with torch.no_grad():
        own = eager(input_ids=batch.inputs["input_ids"], output_attentions=True)
    found = scope.read("the cat sat on the mat").attention
    np.testing.assert_allclose(found, torch.stack(own.attentions)[:, 0].numpy(), atol=2e-6)
    # an edit reaches both halves of the values that one softmax weighs
    plain = scope.forward(batch).logits
    same = scope.edited(lambda call: call.weights).forward(batch).logits
    torch.testing.assert_close(same, plain, atol=1e-5, rtol=1e-5)


def test_attention_without_a_softmax_is_called_what_it_is() -> None:
    with pytest.raises(AttentionNotRead, match=r"YosoAttention\) without a visible softmax"):
        tiny_scope("YosoForMaskedLM").read("the cat")


def test_a_module_that_calls_sdpa_itself_is_sent_to_eager() -> None:
    from transformers import Data2VecVisionConfig, Data2VecVisionModel

    config = Data2VecVisionConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64,
        image_size=16, patch_size=4,
    )  # fmt: skip
    model = Data2VecVisionModel(config).eval()
    with pytest.raises(AttentionNotRead, match=r"load it with attn_implementation='eager'"):
        hs.load(model).read_inputs({"pixel_values": torch.zeros(1, 3, 16, 16)})


def test_ibert_is_read_at_its_own_softmax() -> None:
    scope = tiny_scope("IBertForMaskedLM")
    inputs = scope.encode(["the cat sat"]).inputs
    with torch.no_grad():
        own = scope.model(**inputs, output_attentions=True).attentions
    np.testing.assert_allclose(
        scope.read("the cat sat").attention, torch.stack(own)[:, 0].numpy(), atol=2e-6
    )


def test_canine_says_that_it_pools_its_characters() -> None:
    sizes = {"downsampling_rate": 4, "local_transformer_stride": 16, "upsampling_kernel_size": 4}
    model = tiny_model("CanineModel", num_hash_functions=4, num_hash_buckets=64, **sizes)
    scope = hs.load(model, tiny_tokenizer())
    with pytest.raises(BadInput, match="not the tokens of the text"):
        scope.read("the cat sat on the mat")
    assert scope.read("the cat sat", layers=[0]).part().numbers == (0,)
