"""The exported graph computes what the model computes: every family, with heads on and off."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from tokenizers import normalizers

import headscope as hs
from headscope.live.graph import Graph, check_family, example, halve, run_graph, write_graph
from tests.browser.live import generated

TABLE = b"\x04\0\0\0\0\0\0\0"  # SentencePiece's, of no entry
TEXT = "i went to the store and a cat sat on the [MASK] ."
FAMILIES = {
    "BertForPreTraining": {},
    "DistilBertForMaskedLM": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    "RobertaForMaskedLM": {},
    "ElectraForMaskedLM": {},
    "GPT2LMHeadModel": {},
    "LlamaForCausalLM": {"num_key_value_heads": 2},
    "Qwen2ForCausalLM": {"num_key_value_heads": 2},
    "Qwen3ForCausalLM": {"num_key_value_heads": 2, "head_dim": 8},
    "GemmaForCausalLM": {"num_key_value_heads": 2, "head_dim": 8},
    "Gemma2ForCausalLM": {"num_key_value_heads": 2, "head_dim": 8, "sliding_window": 6},
}


def answers(path, scope, text, pair=None, off=()):
    """What the file answers in Python's onnxruntime, by name."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path))
    inputs = scope.encode([text], [pair]).inputs
    layers, heads = scope.model.config.num_hidden_layers, scope.model.config.num_attention_heads
    switches = np.ones((layers, heads), np.float32)
    for layer, head in off:
        switches[layer, head] = 0
    ids = inputs["input_ids"].numpy()
    given = {
        "ids": ids,
        "types": inputs.get("token_type_ids", torch.zeros_like(inputs["input_ids"])).numpy(),
        "positions": np.arange(ids.shape[1]),
        "switches": switches,
    }
    names = [one.name for one in session.get_outputs()]
    made = session.run(None, {one.name: given[one.name] for one in session.get_inputs()})
    return dict(zip(names, made, strict=True))


def attention(scope, text, pair=None):
    part = scope.read(text, pair).part()
    return np.stack([part.weights(number) for number in part.numbers])


USUAL = ("BertForPreTraining", "LlamaForCausalLM")  # an export takes seconds: the others are slow
PARAMETERS = [
    name if name in USUAL else pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES
]


@pytest.fixture(scope="module", params=PARAMETERS)
def exported(request, make_scope, tmp_path_factory):
    scope = make_scope(request.param, **FAMILIES[request.param])
    path = tmp_path_factory.mktemp("live") / "model.onnx"
    write_graph(Graph(scope), scope, path)
    return scope, path


@pytest.mark.parametrize("text", ["cat", TEXT, " ".join([TEXT] * 4)])
def test_attention_equals_the_readings(exported, text):
    scope, path = exported
    found = answers(path, scope, text)
    np.testing.assert_allclose(found["attention"], attention(scope, text), atol=1e-5)


def test_heads_switched_off_are_those_of_the_default_edit(exported):
    scope, path = exported
    off = [(0, 1), (0, 3), (1, 2)]
    edited = scope.without(heads=off)
    found = answers(path, scope, TEXT, off=off)
    np.testing.assert_allclose(found["attention"], attention(edited, TEXT), atol=1e-5)
    with torch.no_grad():
        truth = edited.forward(edited.encode([TEXT]))
    logits = truth["prediction_logits"] if "prediction_logits" in truth else truth["logits"]
    np.testing.assert_allclose(found["logits"], logits[0].numpy(), atol=1e-4)


def test_q_and_k_give_back_the_attention(exported):
    scope, path = exported
    found = answers(path, scope, TEXT)
    graph = Graph(scope)
    run_graph(graph, example(scope))
    q, k = found["q"][0], found["k"][0]
    k = np.repeat(k, q.shape[0] // k.shape[0], axis=0)
    layer = graph.layers[0]
    scores = np.einsum("htd,hsd->hts", q, k) * layer["scaling"]
    if layer["softcap"]:
        scores = layer["softcap"] * np.tanh(scores / layer["softcap"])
    t = scores.shape[-1]
    distance = np.arange(t)[:, None] - np.arange(t)[None]
    if layer["mask"] != "none":
        window = layer["mask"]["window"] if isinstance(layer["mask"], dict) else t
        scores = np.where((distance >= 0) & (distance < window), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(weights, found["attention"][0], atol=1e-5)


def test_half_precision_stays_within_a_thousandth(make_scope, tmp_path):
    onnx = pytest.importorskip("onnx")
    scope = make_scope("BertForPreTraining")
    path = tmp_path / "model.onnx"
    write_graph(Graph(scope), scope, path)
    single = path.stat().st_size
    every = onnx.load(path).graph.initializer
    floats = sum(len(one.raw_data) for one in every if one.data_type == onnx.TensorProto.FLOAT)
    halve(path)
    assert floats > 0.2 * single  # of so small a model the graph is the most
    assert path.stat().st_size < single - 0.4 * floats
    found = answers(path, scope, TEXT, "the dog ran")
    np.testing.assert_allclose(found["attention"], attention(scope, TEXT, "the dog ran"), atol=1e-4)


def test_weights_that_were_kept_in_16_bits_lose_nothing(make_scope, tmp_path):
    scope = make_scope("BertForPreTraining")
    kept = hs.load(copy.deepcopy(scope.model).half().float(), scope.tokenizer)
    path = tmp_path / "model.onnx"
    write_graph(Graph(kept), kept, path)
    before = answers(path, kept, TEXT)["attention"]
    halve(path)
    np.testing.assert_array_equal(answers(path, kept, TEXT)["attention"], before)


@pytest.mark.slow
def test_half_of_a_real_single_precision_model_stays_within_a_thousandth(minilm, tmp_path):
    path = tmp_path / "model.onnx"
    write_graph(Graph(minilm), minilm, path)
    halve(path)
    for text, pair in generated(20, most=120):
        found, truth = answers(path, minilm, text, pair), attention(minilm, text, pair)
        np.testing.assert_allclose(found["attention"], truth, atol=1e-3, err_msg=text)


def test_another_family_is_refused_before_anything_is_written(tiny_t5, tmp_path):
    with pytest.raises(hs.BadInput, match="of the family t5"):
        hs.live_page(tiny_t5, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_tokenizer_that_normalises_by_a_table_is_refused(make_scope, tmp_path):
    scope = make_scope("BertForMaskedLM")
    tokenizer = copy.deepcopy(scope.tokenizer)
    tokenizer.backend_tokenizer.normalizer = normalizers.Precompiled(TABLE)
    with pytest.raises(hs.BadInput, match="normalises text by a table"):
        hs.live_page(hs.load(scope.model, tokenizer), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_the_model_is_left_as_it_was_found(make_scope, tmp_path):
    scope = make_scope("GPT2LMHeadModel")
    before = scope.model.config._attn_implementation
    check_family(scope)
    write_graph(Graph(scope), scope, tmp_path / "model.onnx")
    assert scope.model.config._attn_implementation == before
