"""Activations by name, held to plain hooks on the modules that each family calls them by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.circuits.activations import NAMES, READ_ONLY
from headscope.errors import BadInput
from tests.circuits.test_attribute import BY_NAME, scope_of
from tests.tiny import tiny_scope

TEXT = "i went to the store and bought a red"
TEXTS = ["the cat sat", TEXT]
LLAMA = ("model.layers", "self_attn.o_proj", "mlp.down_proj")
BERT = ("encoder.layer", "attention.output.dense", "output.dense")
# layers, the heads' output projection, the MLP's last map, by the family's own names
MODULES = {
    "GPT-2": ("transformer.h", "attn.c_proj", "mlp.c_proj"),
    "Llama": LLAMA,
    "Qwen2": LLAMA,
    "Gemma 2": LLAMA,
    "Gemma 3": LLAMA,
    "Granite": LLAMA,
    "OPT": ("model.decoder.layers", "self_attn.out_proj", "fc2"),
    "GPT-NeoX": ("gpt_neox.layers", "attention.dense", "mlp.dense_4h_to_h"),
    "BLOOM": ("transformer.h", "self_attention.dense", "mlp.dense_4h_to_h"),
    "BERT": ("bert." + BERT[0], *BERT[1:]),
    "RoBERTa": ("roberta." + BERT[0], *BERT[1:]),
    "DistilBERT": ("distilbert.transformer.layer", "attention.out_lin", "ffn.lin2"),
    "T5": ("decoder.block", "layer.0.SelfAttention.o", "layer.2.DenseReluDense.wo"),
    "BART": ("model.decoder.layers", "self_attn.out_proj", "fc2"),
}
OF_MODULES = ("stream.before", "stream.after", "attention.heads", "attention.output",
              "mlp.inner", "mlp.output")  # fmt: skip


def bent(own: torch.Tensor) -> torch.Tensor:
    """No norm undoes it, and it is the same however the last axis is cut."""
    return own + 0.5 * own.square()


def text_for(name: str) -> str:
    return TEXT.replace("store", "[MASK]") if name in ("BERT", "RoBERTa", "DistilBERT") else TEXT


def inputs_of(scope: hs.Scope, text: str) -> Any:
    from headscope.reading.inputs.decoder_text import encode_both

    both = encode_both(scope, [text], [None])[0] if scope.encoder_decoder else scope.encode([text])
    return scope.accepted(both.inputs)


def module_of(scope: hs.Scope, name: str, layer: int, activation: str) -> Any:
    layers, projection, mlp = MODULES[name]
    inside = {"attention": f".{projection}", "mlp": f".{mlp}"}.get(activation.split(".")[0], "")
    return scope.model.get_submodule(f"{layers}.{layer}{inside}")


def hooked(scope: hs.Scope, name: str, layer: int, activation: str, change: Any = None) -> Any:
    """What a plain hook sees (and changes) at a module, and the model's output then."""
    seen: list[torch.Tensor] = []
    before = activation.split(".")[1] in ("before", "heads", "inner")

    def on_input(module, args, kwargs):
        own = args[0] if args else kwargs["hidden_states"]
        seen.append(own)
        made = own if change is None else change(own)
        return ((made, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": made})

    def on_output(module, given, output):
        own = output[0] if isinstance(output, tuple) else output
        seen.append(own)
        made = own if change is None else change(own)
        return (made, *output[1:]) if isinstance(output, tuple) else made

    module = module_of(scope, name, layer, activation)
    handle = (
        module.register_forward_pre_hook(on_input, with_kwargs=True)
        if before
        else module.register_forward_hook(on_output)
    )
    with torch.no_grad():
        output = scope.model(**inputs_of(scope, text_for(name)))
    handle.remove()
    return seen[0].numpy().ravel(), output[0] if not hasattr(output, "logits") else output.logits


def logits_of(scope: hs.Scope, text: str) -> torch.Tensor:
    output = scope.forward(inputs_of(scope, text))
    return output.logits if hasattr(output, "logits") else output[0]


@pytest.mark.parametrize("name", MODULES)
def test_activations_are_what_plain_hooks_see_and_edits_what_they_change(name: str) -> None:
    scope, text = scope_of(name), text_for(name)
    found = scope.activations(text, OF_MODULES)
    for activation in OF_MODULES:
        for layer in (0, 1):
            seen, _ = hooked(scope, name, layer, activation)
            mine = found[activation].sel(layer=layer).to_numpy()
            np.testing.assert_allclose(mine.ravel(), seen, atol=1e-6, rtol=1e-6)
        _, wanted = hooked(scope, name, 1, activation, bent)
        edited = scope.with_edits(f"{activation}.1", bent)
        torch.testing.assert_close(logits_of(edited, text), wanted, atol=1e-5, rtol=1e-5)
        assert not torch.allclose(wanted, logits_of(scope, text), atol=1e-4)


@pytest.mark.parametrize("name", MODULES)
def test_an_identity_edit_changes_nothing_to_the_bit(name: str) -> None:
    scope, text = scope_of(name), text_for(name)
    plain = logits_of(scope, text)
    for activation in NAMES:
        if activation in READ_ONLY or (
            name == "BLOOM" and activation in ("attention.q", "attention.k")
        ):
            continue
        assert torch.equal(logits_of(scope.with_edits(activation, lambda own: own), text), plain)
        assert torch.equal(logits_of(scope.with_edits(activation, lambda own: None), text), plain)
        assert torch.equal(logits_of(scope.with_edits(activation, torch.clone), text), plain)


def test_q_k_and_v_are_edited_as_if_their_projections_gave_other_numbers(tiny_llama) -> None:
    for letter in "qkv":
        module = tiny_llama.model.model.layers[1].get_submodule(f"self_attn.{letter}_proj")
        handle = module.register_forward_hook(lambda m, given, output: 1.7 * output)
        wanted = logits_of(tiny_llama, TEXT)
        handle.remove()
        edited = tiny_llama.with_edits(f"attention.{letter}.1", lambda own: 1.7 * own)
        torch.testing.assert_close(logits_of(edited, TEXT), wanted, atol=1e-5, rtol=1e-5)
        found = edited.activations(TEXT, [f"attention.{letter}.1"])[f"attention.{letter}.1"]
        own = tiny_llama.activations(TEXT, [f"attention.{letter}.1"])[f"attention.{letter}.1"]
        np.testing.assert_allclose(found, 1.7 * own, rtol=1e-6)


def test_weights_and_values_make_the_heads_outputs(tiny_gpt2) -> None:
    names = ["attention.weights", "attention.v", "attention.heads", "attention.q", "attention.k"]
    found = tiny_gpt2.activations(TEXT, names)
    made = np.einsum("lhqk,lhkd->lqhd", found["attention.weights"], found["attention.v"])
    np.testing.assert_allclose(made, found["attention.heads"], atol=1e-5)
    reading = tiny_gpt2.read(TEXT)
    np.testing.assert_allclose(found["attention.weights"][1], reading.part().weights(1), atol=1e-6)
    scores = np.einsum("lhqd,lhkd->lhqk", found["attention.q"], found["attention.k"]) / np.sqrt(8)
    later = np.triu(np.ones(scores.shape[-2:], bool), 1)
    shares = torch.tensor(np.where(later, -np.inf, scores)).softmax(-1)
    np.testing.assert_allclose(shares, found["attention.weights"], atol=1e-5)


def test_the_scale_of_a_norm_is_what_it_divides_by(tiny_llama) -> None:
    found = tiny_llama.activations(TEXT, ["norm.scale", "stream.before"])
    stream = torch.from_numpy(found["stream.before"].to_numpy())
    eps = tiny_llama.model.config.rms_norm_eps
    wanted = (stream.square().mean(-1) + eps).sqrt()
    np.testing.assert_allclose(found["norm.scale"].isel(norm=0), wanted, rtol=1e-4)


@pytest.mark.parametrize("name", ["GPT-2", "Llama", "BERT"])
def test_texts_of_unequal_length_are_as_each_alone_and_padding_is_nan(name: str) -> None:
    scope = tiny_scope("BertForMaskedLM") if name == "BERT" else scope_of(name)
    names = ["stream.after", "attention.weights.1", "attention.heads"]
    both = scope.activations(TEXTS, names)
    for number, text in enumerate(TEXTS):
        alone = scope.activations(text, names)
        length = alone.sizes["token"]
        mine = both.isel(text=number)
        np.testing.assert_allclose(
            mine["stream.after"][:, :length], alone["stream.after"], atol=1e-5
        )
        np.testing.assert_allclose(
            mine["attention.weights.1"][:, :length, :length],
            alone["attention.weights.1"],
            atol=1e-5,
        )
        assert np.isnan(mine["stream.after"][:, length:]).all()
    assert alone.attrs["tokens"] == list(scope.read(TEXTS[1]).part().query.labels)


def test_edits_compose_with_disabled_heads_and_serve_reading_writing_and_patching(
    tiny_llama,
) -> None:
    def off(own: torch.Tensor) -> torch.Tensor:
        return 0 * own

    edited = tiny_llama.with_edits("mlp.output.0", off)
    handle = tiny_llama.model.model.layers[0].mlp.down_proj.register_forward_hook(
        lambda m, given, output: 0 * output
    )
    try:
        wanted_reading = tiny_llama.without(heads=[(0, 1)]).read(TEXT)
        wanted_text = tiny_llama.generate("the cat", 6)
        wanted = hs.patch(tiny_llama, TEXT, TEXT.replace("store", "house"), "tree", progress=False)
        layers = hs.patch(tiny_llama, TEXT, TEXT.replace("store", "house"), "tree",
                          what="layers", progress=False)  # fmt: skip
    finally:
        handle.remove()
    both = edited.without(heads=[(0, 1)])
    for layer in (0, 1):
        np.testing.assert_allclose(
            both.read(TEXT).part().weights(layer), wanted_reading.part().weights(layer), atol=1e-6
        )
    assert edited.generate("the cat", 6).part().query.labels == wanted_text.part().query.labels
    options: dict[str, Any] = {"progress": False}
    found = hs.patch(edited, TEXT, TEXT.replace("store", "house"), "tree", **options)
    np.testing.assert_allclose(found.effects["patch"], wanted.effects["patch"], atol=1e-5)
    by_layer = hs.patch(
        edited, TEXT, TEXT.replace("store", "house"), "tree", what="layers", **options
    )
    np.testing.assert_allclose(by_layer.effects["patch"], layers.effects["patch"], atol=1e-5)


def test_an_edit_that_adds_is_made_once_in_a_patch(tiny_llama) -> None:
    """Layers below a patched one are stood in for by what they gave: edited already."""
    edited = tiny_llama.with_edits("stream.after.0", lambda own: own + 0.3)
    found = hs.patch(
        edited, TEXT, TEXT.replace("store", "house"), "tree", what="layers", progress=False
    )
    token = tiny_llama.tokenizer.convert_tokens_to_ids("tree")
    wanted = [float(logits_of(edited, one)[0, -1, token])
              for one in (TEXT, TEXT.replace("store", "house"))]  # fmt: skip
    assert (found.clean[0], found.corrupted[0]) == pytest.approx(wanted, abs=1e-5)
    assert found.share()[-1] == pytest.approx(1.0, abs=1e-4)


def test_a_mean_output_is_the_mean_over_the_reference_and_not_a_mean_map(tiny_gpt2) -> None:
    reference = ["the cat sat on the mat", "a dog ran", "she said that it was red"]
    means = np.concatenate(
        [
            tiny_gpt2.activations(text, ["attention.heads.1"])["attention.heads.1"]
            for text in reference
        ]
    ).mean(0)
    disabled = tiny_gpt2.without(heads=[(1, 2)], mode="mean_output", weights=reference)
    found = disabled.activations(TEXT, ["attention.heads.1"])["attention.heads.1"].to_numpy()
    own = tiny_gpt2.activations(TEXT, ["attention.heads.1"])["attention.heads.1"].to_numpy()
    np.testing.assert_allclose(found[:, 2], np.broadcast_to(means[2], found[:, 2].shape), atol=1e-5)
    np.testing.assert_array_equal(np.delete(found, 2, 1), np.delete(own, 2, 1))
    np.testing.assert_array_equal(
        disabled.read(TEXT).part().weights(1), tiny_gpt2.read(TEXT).part().weights(1)
    )
    with pytest.raises(BadInput, match="takes the texts to average over"):
        tiny_gpt2.without(heads=[(1, 2)], mode="mean_output")


def test_heads_are_ablated_by_their_mean_outputs_as_one_by_one(tiny_gpt2) -> None:
    reference = ["the cat sat on the mat", "a dog ran"]
    pairs = hs.circuits.Pairs("two", tuple(
        hs.circuits.Pair(text, "a dog", "house", "store") for text in (TEXT, "the red tree")
    ))  # fmt: skip
    found = hs.ablate(
        tiny_gpt2, pairs, mode="mean_output", weights=reference, what=("heads",), progress=False
    )
    house, store = tiny_gpt2.tokenizer.convert_tokens_to_ids(["house", "store"])

    def scored(scope: hs.Scope) -> float:
        last = [logits_of(scope, pair.clean)[0, -1] for pair in pairs.pairs]
        return float(np.mean([float(one[house] - one[store]) for one in last]))

    off = tiny_gpt2.without(heads=[(1, 2)], mode="mean_output", weights=reference)
    assert found.head_map[1, 2] == pytest.approx(scored(off) - scored(tiny_gpt2), abs=1e-5)
    assert found.head_map[1, 2] != 0


def test_means_of_heads_that_do_not_answer_are_refused(make_scope) -> None:
    t5 = make_scope("T5ForConditionalGeneration")
    with pytest.raises(BadInput, match="pass kind='decoder'"):
        t5.without(heads=[(0, 0)], mode="mean_output", weights=["the cat"])


def test_what_cannot_be_named_or_put_there_is_refused(tiny_gpt2) -> None:
    with pytest.raises(BadInput, match=r"no activation 'resid_pre'; there are stream.before"):
        tiny_gpt2.activations(TEXT, ["resid_pre"])
    with pytest.raises(BadInput, match="There is no layer 7"):
        tiny_gpt2.with_edits("mlp.output.7", torch.clone)
    with pytest.raises(BadInput, match=r"norm.scale can be read but not edited"):
        tiny_gpt2.with_edits("norm.scale", torch.clone)
    with pytest.raises(BadInput, match="return a tensor of the same shape"):
        logits_of(tiny_gpt2.with_edits("mlp.output.1", lambda own: own.sum()), TEXT)
    assert set(MODULES) <= set(BY_NAME)
