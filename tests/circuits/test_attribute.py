"""Logit attribution: parts that sum to the model's own logit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.circuits.logits.attribute import attribute
from headscope.errors import HeadscopeError
from tests.contracts.families import FAMILIES
from tests.contracts.family_models import build
from tests.contracts.sizes import two_stacks
from tests.tiny import tiny_scope, tiny_tokenizer

DECODERS = (
    "GPT-2", "Llama", "Qwen2", "Gemma 2", "Gemma 3", "OPT", "GPT-NeoX", "BLOOM", "Falcon, rotary",
    "Mixtral", "Granite", "T5", "BART",
)  # fmt: skip
BY_NAME = {family.name: family for family in FAMILIES}
TEXT = "i went to the store and bought a red"

GEMMA_3N = {
    "num_key_value_heads": 2,
    "head_dim": 8,
    "layer_types": ["sliding_attention", "full_attention"],
    "num_kv_shared_layers": 0,
    "vocab_size_per_layer_input": 64,
    "hidden_size_per_layer_input": 8,
    "laurel_rank": 4,
}
FSMT = {**two_stacks(), "src_vocab_size": 64, "tgt_vocab_size": 64, "langs": ["en", "de"]}


def scope_of(name: str) -> hs.Scope:
    return hs.load(build(BY_NAME[name]), tiny_tokenizer(), name=name)


def own_logits(scope: hs.Scope, text: str) -> torch.Tensor:
    from headscope.reading.inputs.decoder_text import encode_both

    batch = encode_both(scope, [text], [None])[0] if scope.encoder_decoder else scope.encode([text])
    with torch.no_grad():
        return scope.model(**scope.accepted(batch.inputs)).logits[0, -1]


@pytest.mark.parametrize("name", DECODERS)
def test_the_parts_of_a_decoder_sum_to_its_logit(name: str) -> None:
    scope = scope_of(name)
    found = attribute(scope, TEXT, target="house", lens=False, tokens=0)
    target = scope.tokenizer.convert_tokens_to_ids("house")
    logit = float(own_logits(scope, TEXT)[target])
    size = max(abs(part.value) for part in found.parts)
    assert found.value == pytest.approx(logit, rel=1e-4, abs=1e-5)
    assert abs(found.total - logit) <= 1e-4 * max(size, abs(logit))
    kinds = {part.kind for part in found.parts if part.part == "head"}
    assert kinds == set(scope.kinds) - {"encoder"}
    if found.edges:  # families read at their softmax show no values, so no edges
        by_edges = sum(float(edges.sum()) for edges in found.edges.values())
        heads = sum(part.value for part in found.parts if part.part == "head")
        assert by_edges == pytest.approx(heads, abs=1e-4 * size)


def test_a_difference_of_two_logits_is_the_difference_of_their_parts(tiny_llama) -> None:
    house, tree = (attribute(tiny_llama, TEXT, target=one) for one in ("house", "tree"))
    both = attribute(tiny_llama, TEXT, target=("house", "tree"))
    assert both.value == pytest.approx(house.value - tree.value, abs=1e-5)
    assert np.allclose(both.map(), house.map() - tree.map(), atol=1e-5)


def test_a_piece_of_a_word_is_a_target_as_it_is_spelled(tiny_llama) -> None:
    found = attribute(tiny_llama, TEXT, target="##berries", tokens=0, lens=False)
    piece = tiny_llama.tokenizer.convert_tokens_to_ids("##berries")
    assert found.value == pytest.approx(float(own_logits(tiny_llama, TEXT)[piece]), abs=1e-4)


def test_a_head_whose_projection_is_zero_adds_nothing() -> None:
    scope = tiny_scope("GPT2LMHeadModel")
    before = attribute(scope, TEXT, target="house").map()
    with torch.no_grad():
        scope.model.transformer.h[1].attn.c_proj.weight[8:16] = 0  # head 1 of layer 1
    after = attribute(scope, TEXT, target="house").map()
    assert after[1, 1] == 0 and before[1, 1] != 0


def test_promoted_tokens_are_those_the_heads_output_scores(tiny_llama) -> None:
    found = attribute(tiny_llama, TEXT, tokens=5)
    target = tiny_llama.tokenizer.convert_tokens_to_ids(found.target[0])
    top = found.strongest(1, "head")[0]
    up, down = found.promotes[f"{top.kind}.{top.layer}.{top.head}"]
    assert list(up.values) == sorted(up.values, reverse=True)
    every = attribute(tiny_llama, TEXT, tokens=64).promotes[f"{top.kind}.{top.layer}.{top.head}"][0]
    named = dict(zip(every.tokens, every.values, strict=True))
    label = tiny_llama.tokenizer.convert_ids_to_tokens(target)
    assert named[label] == pytest.approx(top.value, abs=1e-5)
    assert min(down.values) == pytest.approx(min(named.values()), abs=1e-6)


def test_the_lens_ends_in_what_the_model_says(tiny_gpt2) -> None:
    found = attribute(tiny_gpt2, TEXT, target="house")
    assert len(found.lens) == 2
    assert found.lens[-1].tokens[0] == found.likeliest[0][0]
    assert found.target_by_layer[-1] == pytest.approx(found.value, abs=1e-4)


@pytest.mark.parametrize(
    ("architecture", "sizes"),
    [
        ("OpenAIGPTLMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4}),  # layers give lists
        ("GPTNeoXJapaneseForCausalLM", {"intermediate_multiple_size": 2}),  # layers give tuples
    ],
)
def test_layers_that_give_more_than_a_tensor_are_read_out_too(architecture, sizes) -> None:
    scope = tiny_scope(architecture, **sizes)
    found = attribute(scope, TEXT)
    assert abs(found.unexplained) < 1e-4
    own = scope.forward(scope.encode([TEXT])).logits[0, -1].softmax(-1)
    assert found.lens[-1].values[0] == pytest.approx(float(own.max()), abs=1e-5)


@pytest.mark.parametrize(
    ("architecture", "sizes", "sentence"),
    [
        ("IBertForMaskedLM", {}, "has no output layer"),
        (
            "FSMTForConditionalGeneration",
            FSMT,
            "uses a lookup table as its output layer.* cannot be decomposed",
        ),
        ("Gemma3nForCausalLM", GEMMA_3N, "pass on several streams at once.* cannot be decomposed"),
    ],
)
def test_what_cannot_be_taken_apart_is_refused(architecture, sizes, sentence) -> None:
    with pytest.raises(HeadscopeError, match=sentence):
        attribute(tiny_scope(architecture, **sizes), "the [MASK] sat")


@pytest.mark.parametrize("architecture", ["BertForPreTraining", "DistilBertForMaskedLM"])
def test_a_masked_word_is_explained_but_for_what_its_transform_bends(architecture: str) -> None:
    sizes = {} if architecture.startswith("Bert") else {"dim": 32, "n_heads": 4, "n_layers": 2}
    scope = tiny_scope(architecture, **sizes)
    text = "i went to the [MASK] ."
    found = attribute(scope, text, target="store")
    ids = scope.encode([text])
    with torch.no_grad():
        output = scope.model(**scope.accepted(ids.inputs))
    logits = getattr(output, "prediction_logits", None)
    logits = output.logits if logits is None else logits
    place = ids.tokens[0].spellings.index("[MASK]")
    logit = float(logits[0, place, scope.tokenizer.convert_tokens_to_ids("store")])
    assert found.value == pytest.approx(logit, abs=1e-5)
    assert found.position == place
    assert found.total + found.unexplained == pytest.approx(logit, abs=1e-5)
    assert "unexplained" in found.note


def test_with_a_straight_transform_nothing_of_a_masked_word_is_unexplained() -> None:
    scope = tiny_scope("BertForMaskedLM")
    scope.model.cls.predictions.transform.transform_act_fn = torch.nn.Identity()
    found = attribute(scope, "i went to the [MASK] .", target="store")
    size = max(abs(part.value) for part in found.parts)
    assert abs(found.unexplained) <= 1e-4 * size


def test_a_class_is_explained_through_the_pooler() -> None:
    scope = tiny_scope("BertForSequenceClassification")
    found = attribute(scope, "the cat sat", target="LABEL_1")
    with torch.no_grad():
        logits = scope.model(**scope.encode(["the cat sat"]).inputs).logits[0]
    assert found.value == pytest.approx(float(logits[1]), abs=1e-5)
    assert found.rows_read.tolist() == [0]  # the pooler reads the first token alone


def test_a_saved_attribution_comes_back(tiny_llama, tmp_path) -> None:
    found = attribute(tiny_llama, TEXT, target="house")
    found.save(tmp_path / "a.parquet")
    again = hs.circuits.Attribution.load(tmp_path / "a.parquet")
    assert again.parts == found.parts and again.promotes == found.promotes
    assert np.array_equal(again.by_key(1, 2), found.by_key(1, 2))


def test_gradients_switched_off_around_it_change_nothing(tiny_llama) -> None:
    with torch.no_grad():
        found = attribute(tiny_llama, TEXT, target="house")
    assert np.array_equal(found.map(), attribute(tiny_llama, TEXT, target="house").map())
    assert found.promotes


def test_the_model_is_left_as_found(tiny_gpt2) -> None:
    modules = list(tiny_gpt2.model.modules())
    before = [(dict(m.__dict__), len(m._forward_hooks)) for m in modules]
    attribute(tiny_gpt2, TEXT)
    for module, (own, hooks) in zip(modules, before, strict=True):
        assert "forward" not in module.__dict__ and len(module._forward_hooks) == hooks
        assert set(module.__dict__) == set(own)


@pytest.mark.parametrize(
    ("architecture", "text", "options", "sentence"),
    [
        ("LlamaForCausalLM", TEXT, {"target": "strawberries"}, "2 tokens"),
        ("LlamaForCausalLM", TEXT, {"target": "€"}, "does not know"),
        ("LlamaForCausalLM", TEXT, {"target": ("a", "the", "i")}, "one token, or two"),
        ("LlamaForCausalLM", TEXT, {"target": ("cat", "cat")}, "two different"),
        ("LlamaForCausalLM", TEXT, {"position": 99}, "no token 99"),
        ("BertModel", TEXT, {}, "no output layer"),
        ("BertForMaskedLM", TEXT, {}, r"put \[MASK\]"),
        ("BertForSequenceClassification", TEXT, {"target": "joy"}, "LABEL_0, LABEL_1"),
    ],
)
def test_misuse_is_told_in_one_sentence(architecture, text, options, sentence) -> None:
    with pytest.raises(hs.BadInput, match=sentence):
        attribute(tiny_scope(architecture), text, **options)


@pytest.mark.slow
def test_the_parts_of_smollm2_sum_to_its_logit(smollm2) -> None:
    text = "When Mary and John went to the store, John gave a drink to"
    found = hs.attribute(smollm2, text, target=("Mary", "John"))
    logits = own_logits(smollm2, text)
    mary, john = (smollm2.tokenizer(w)["input_ids"][0] for w in (" Mary", " John"))
    difference = float(logits[mary] - logits[john])
    assert found.value == pytest.approx(difference, rel=1e-4)
    assert found.total == pytest.approx(difference, rel=1e-4)
    assert found.likeliest[0][0] == "␣Mary"


@pytest.mark.slow
def test_the_parts_of_gemma_3_sum_to_its_logit(gemma_file: Path) -> None:
    scope = hs.load(gemma_file, name="Gemma 3 270M")
    text = "The capital of France is"
    found = hs.attribute(scope, text, target=("Paris", "London"), tokens=0, lens=False)
    logits = own_logits(scope, text)
    paris, london = (
        scope.tokenizer(w, add_special_tokens=False)["input_ids"][0] for w in (" Paris", " London")
    )
    difference = float(logits[paris] - logits[london])
    assert found.value == pytest.approx(difference, rel=1e-4)
    assert found.total == pytest.approx(difference, rel=1e-4)
