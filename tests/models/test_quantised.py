"""Weights of 8 and 4 bits are read, measured, edited and run as what they stand for."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM
from typer.testing import CliRunner

import headscope as hs
from headscope.cli import build
from headscope.errors import BadInput, HeadscopeError
from headscope.reading import Reading
from headscope.runs.identity import model_fingerprint
from tests.tiny import tiny_tokenizer

TEXT = "the cat sat on the mat and the dog ran"
WAYS = ("bitsandbytes 8", "bitsandbytes 4", "bitsandbytes 4 twice", "torchao 8")


def config_of(way: str) -> Any:
    import transformers

    package = way.split()[0]
    if importlib.util.find_spec(package) is None or importlib.util.find_spec("accelerate") is None:
        pytest.skip(f"the package {package} is not installed")
    if package == "torchao":
        from torchao.quantization import Int8WeightOnlyConfig

        return transformers.TorchAoConfig(Int8WeightOnlyConfig())
    if "8" in way:
        return transformers.BitsAndBytesConfig(load_in_8bit=True)
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant="twice" in way
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("models") / "plain")


def saved(folder: Path, factor: float = 1.0) -> Path:
    """A decoder with grouped queries; `factor` is what one of its weights is multiplied with."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tiny_tokenizer()), hidden_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, intermediate_size=128,
            initializer_range=0.2,
        )
    )  # fmt: skip
    with torch.no_grad():
        model.model.layers[1].self_attn.k_proj.weight.mul_(factor)
    model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def opened(folder: Path, way: str) -> hs.Scope:
    return hs.load(folder, quantization_config=config_of(way), device="cpu")


def plain_copy(scope: hs.Scope, folder: Path) -> hs.Scope:
    """The same model with the numbers its weights stand for, by the quantisers' own functions."""
    plain = hs.load(folder, device="cpu")
    theirs = dict(scope.model.named_modules())
    for name, module in plain.model.named_modules():
        if isinstance(module, nn.Linear):
            module.weight.data = stands_for(theirs[name]).float()
    return plain


def stands_for(linear: Any) -> torch.Tensor:
    weight = linear.weight
    if hasattr(weight, "dequantize") and type(weight).__module__.startswith("torchao"):
        return weight.dequantize()
    if getattr(weight, "quant_state", None) is not None:
        from bitsandbytes.functional import dequantize_4bit

        return dequantize_4bit(weight.data, weight.quant_state)
    if type(weight).__name__ == "Int8Params":
        scales = linear.state.SCB if weight.SCB is None else weight.SCB
        return weight.data.float() * scales[:, None] / 127
    return weight.detach()


@pytest.mark.parametrize("way", WAYS)
def test_maps_kept_made_and_loaded_are_the_models_own(
    way: str, folder: Path, tmp_path: Path
) -> None:
    scope = opened(folder, way)
    scope.model.set_attn_implementation("eager")
    inputs = tiny_tokenizer()(TEXT, return_tensors="pt", return_token_type_ids=False)
    with torch.no_grad():
        found = scope.model(**inputs, output_attentions=True).attentions
    expected = torch.stack(found)[:, 0].float().numpy()
    assert np.abs(expected - hs.load(folder).read(TEXT).attention.values).max() > 1e-4
    np.testing.assert_allclose(scope.read(TEXT).attention, expected, atol=1e-5)
    lazy = scope.read(TEXT, keep=("q", "k"))
    np.testing.assert_allclose(lazy.attention, expected, atol=1e-5)
    lazy.save(tmp_path / "reading.safetensors")
    loaded = Reading.load(tmp_path / "reading.safetensors")
    np.testing.assert_allclose(loaded.attention, expected, atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_a_quantised_model_is_surveyed_edited_and_goes_on_writing(way: str, folder: Path) -> None:
    scope = opened(folder, way)
    attention = scope.read(TEXT).attention.values
    entropy = hs.survey(scope, [TEXT], progress=False).map("entropy")
    rows = -(attention * np.log(np.maximum(attention, 1e-30))).sum(-1)
    np.testing.assert_allclose(entropy, rows.mean(-1), atol=1e-3)
    edited = scope.without([(0, 1)]).read(TEXT).attention.values
    assert np.abs(edited[1] - attention[1]).max() > 1e-3
    assert len(scope.generate(TEXT, max_new_tokens=3).tokens) >= 3


@pytest.mark.parametrize("way", WAYS)
def test_circuits_read_the_numbers_that_small_weights_stand_for(way: str, folder: Path) -> None:
    scope = opened(folder, way)
    plain = plain_copy(scope, folder)
    for measured in (
        lambda one: hs.circuits.copying(one).map("copying"),
        lambda one: hs.survey(one, [TEXT], statistics=["norm_all"], progress=False).map("norm_all"),
        lambda one: hs.importance(one, "sample").size,
    ):
        theirs, ours = measured(plain), measured(scope)
        np.testing.assert_allclose(ours, theirs, atol=0.02 * np.abs(theirs).max())
    attribution = hs.attribute(scope, TEXT)
    assert abs(attribution.unexplained) < 0.01 * max(abs(attribution.value), 1)


@pytest.mark.parametrize("way", WAYS)
def test_the_identity_of_a_run_knows_the_scales_and_no_order_of_work(
    way: str, folder: Path, tmp_path: Path
) -> None:
    """Twice the weight is the same small numbers under other scales."""
    options = {"quantization_config": config_of(way), "device_map": {"": "cpu"}}
    model = LlamaForCausalLM.from_pretrained(folder, **options)
    before = model_fingerprint(model)
    hs.load(model, tiny_tokenizer()).read(TEXT)  # layers pack their weights when they are run
    assert model_fingerprint(model) == before
    other = LlamaForCausalLM.from_pretrained(saved(tmp_path / "other", factor=2.0), **options)
    assert model_fingerprint(other) != before


def test_a_weight_in_the_middle_changes_the_identity(folder: Path) -> None:
    scope = opened(folder, "torchao 8")
    before = model_fingerprint(scope.model)
    weight: Any = scope.model.model.layers[0].mlp.up_proj.weight
    weight.qdata[60, 30] += 1  # printed, the middle of a tensor is three dots
    assert model_fingerprint(scope.model) != before


@pytest.mark.parametrize("bits", ["8bit", "4bit"])
def test_a_name_of_bits_opens_a_folder_and_what_was_saved_opens_again(
    bits: str, folder: Path, tmp_path: Path
) -> None:
    config_of(f"bitsandbytes {bits[0]}")
    scope = hs.load(folder, dtype=bits, device="cpu")
    assert scope.model.is_quantized
    scope.model.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    again = hs.load(tmp_path, device="cpu")
    assert again.model.is_quantized
    np.testing.assert_allclose(again.read(TEXT).attention, scope.read(TEXT).attention, atol=1e-5)


def test_commands_take_bits_and_spread_models(folder: Path) -> None:
    config_of("bitsandbytes 8")
    for asked in (["--dtype", "8bit"], ["--device", "auto"]):
        done = CliRunner().invoke(build(), ["models", str(folder), *asked])
        assert done.exit_code == 0, done.output


def test_gradients_that_would_be_zeros_are_refused(folder: Path) -> None:
    config = config_of("bitsandbytes 4")
    model: Any = LlamaForCausalLM.from_pretrained(
        folder, quantization_config=config, device_map={"": "cpu"}
    )
    scope = hs.load(model, tiny_tokenizer())
    scope.read(TEXT)
    if not model.model.layers[0].mlp.up_proj.support_avx512bf16_for_cpu:
        assert (hs.importance(scope, "sample").size > 0).all()
        return
    with pytest.raises(HeadscopeError, match="Gradients do not flow back"):
        hs.importance(scope, "sample")


def test_what_cannot_be_asked_for_is_said(folder: Path) -> None:
    model = LlamaForCausalLM.from_pretrained(folder)
    for asked, said in (
        ({"model": model, "tokenizer": tiny_tokenizer(), "dtype": "8bit"}, "already loaded"),
        ({"model": folder, "dtype": "3bit"}, "8bit or 4bit"),
        ({"model": folder, "device_map": {"": "nowhere"}}, "'nowhere' cannot be used"),
    ):
        with pytest.raises(BadInput, match=said):
            hs.load(**asked)


def test_bits_without_their_package_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "bitsandbytes" else find(name)
    )
    with pytest.raises(BadInput, match=r"headscope\[bits\]"):
        hs.load(folder, dtype="4bit")


def test_the_weight_of_a_layer_kept_on_disk_is_fetched(folder: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("the package accelerate is not installed")
    places = {"model.embed_tokens": "cpu", "model.rotary_emb": "cpu", "model.norm": "cpu",
              "lm_head": "cpu", "model.layers.0": "cpu", "model.layers.1": "disk"}  # fmt: skip
    spread = hs.load(folder, device_map=places, offload_folder=str(tmp_path))
    assert any(parameter.is_meta for parameter in spread.model.parameters())
    with pytest.raises(BadInput, match="one process runs it"):
        hs.survey(spread, [TEXT] * 4, workers=2, progress=False)
    whole = hs.load(folder, device="cpu")
    np.testing.assert_allclose(
        hs.circuits.copying(spread).map("copying"), hs.circuits.copying(whole).map("copying"),
        atol=1e-5,
    )  # fmt: skip
    assert hs.attribute(spread, TEXT).value == pytest.approx(
        hs.attribute(whole, TEXT).value, abs=1e-4
    )
