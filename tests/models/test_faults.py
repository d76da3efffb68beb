"""Models that cannot be trusted are refused: half adapters, layers too many, kernels of the hub."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.errors import BadInput, HeadscopeError, TextTooLong, UnknownModel
from tests.tiny import tiny_model, tiny_scope, tiny_tokenizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "tiny"
    tiny_model("BertForMaskedLM").save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def configured(folder: Path, **settings) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
    return folder


def test_a_checkpoint_with_a_layer_too_many_is_refused(folder: Path) -> None:
    layers = json.loads((folder / "config.json").read_text())["num_hidden_layers"]
    with pytest.raises(HeadscopeError, match=r"model does not have .* too few layers"):
        hs.load(configured(folder, num_hidden_layers=layers - 1))


def test_a_configuration_that_names_a_kernel_of_the_hub_is_refused(folder: Path) -> None:
    for name in ("attn_implementation", "_attn_implementation"):
        with pytest.raises(UnknownModel, match="kernel 'nobody/attention' from the hub"):
            hs.load(folder, attn_implementation="nobody/attention")
        configured(folder, **{name: "nobody/attention"})
        try:
            scope = hs.load(folder)
        except UnknownModel as error:
            assert "nobody/attention" in str(error)
        else:  # transformers does not take it from there
            assert scope.model.config._attn_implementation != "nobody/attention"


@pytest.mark.parametrize("given", ["nope", "Path", "logging", "pipeline", ["BertTokenizer"], [3]])
def test_odd_architectures_are_no_classes_of_ours(folder: Path, given: object) -> None:
    configured(folder, architectures=given)
    try:
        assert hs.load(folder).read("the cat").attention.shape
    except HeadscopeError as error:
        assert "architectures" in str(error) or len(str(error)) > 20


def test_an_open_model_takes_no_attention_by_name(folder: Path) -> None:
    with pytest.raises(BadInput, match="attn_implementation= does not apply"):
        hs.load(tiny_model("BertModel"), tiny_tokenizer(), attn_implementation="nope")
    with pytest.raises(HeadscopeError, match="nope"):
        hs.load(folder, attn_implementation="nope")


@pytest.mark.parametrize("path", ["/no/such/folder", "./nothing-here", "~/nothing/here"])
def test_a_path_that_leads_nowhere_is_not_asked_for_at_the_hub(path: str, monkeypatch) -> None:
    from transformers import AutoConfig

    monkeypatch.setattr(AutoConfig, "from_pretrained", lambda *a, **k: pytest.fail("asked"))
    with pytest.raises(UnknownModel, match="There is no folder"):
        hs.load(path)


@pytest.fixture
def adapter(folder: Path, tmp_path: Path) -> Path:
    peft = pytest.importorskip("peft")
    settings = peft.LoraConfig(target_modules=["query", "value"], init_lora_weights=False)
    made = peft.get_peft_model(tiny_model("BertForMaskedLM"), settings)
    made.peft_config["default"].base_model_name_or_path = str(folder)
    made.save_pretrained(tmp_path / "adapter")
    return tmp_path / "adapter"


def test_a_whole_adapter_opens(adapter: Path) -> None:
    assert hs.load(adapter).read("the cat").attention.shape


def test_an_adapter_that_lacks_weights_is_refused(adapter: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(adapter / "adapter_model.safetensors")
    del weights[sorted(weights)[0]]
    save_file(weights, adapter / "adapter_model.safetensors")
    with pytest.raises(HeadscopeError, match=r"lacks 1 weights .* do not belong together"):
        hs.load(adapter)
    (adapter / "adapter_model.safetensors").unlink()
    with pytest.raises(HeadscopeError, match="has no weights"):
        hs.load(adapter)


@pytest.mark.parametrize("modules", [["query"], ["query", "value", "key"], ["key"]])
def test_target_modules_that_do_not_fit_the_file_are_refused(adapter: Path, modules) -> None:
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "target_modules": modules}))
    with pytest.raises(HeadscopeError, match="do not belong together"):
        hs.load(adapter)


def test_a_base_folder_that_is_gone_is_not_asked_for_at_the_hub(adapter: Path, folder: Path):
    folder.rename(folder.with_name("moved"))
    with pytest.raises(UnknownModel, match="There is no folder"):
        hs.load(adapter)


def test_gguf_without_its_packages_blames_the_packages(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "accelerate", None)
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    with pytest.raises(HeadscopeError, match=r"needs the package accelerate.*headscope\[gguf\]"):
        hs.load(tmp_path / "a.gguf")


def test_generating_past_the_positions_is_refused(tiny_gpt2: hs.Scope) -> None:
    with pytest.raises(TextTooLong, match="500 more were asked for"):
        tiny_gpt2.generate("the cat", 500)
    with pytest.raises(BadInput, match="max_new_tokens"):
        tiny_gpt2.generate("the cat", "5")


def test_what_was_accepted_in_silence_is_refused(tiny_bert: hs.Scope, tiny_gpt2: hs.Scope) -> None:
    with pytest.raises(BadInput, match="q, k or v, not 'z'"):
        hs.circuits.composition(tiny_gpt2, through=("z",))
    with pytest.raises(BadInput, match="DataFrame"):
        tiny_bert.read(pd.DataFrame({"text": ["the cat"]}))
    with pytest.raises(BadInput, match="keep= is 'auto' or a list"):
        tiny_bert.read("the cat", keep=np.array(3))
    weights = np.full((1, 1, 2, 2), 0.5)
    weights[0, 0, 0] = -0.5, 1.5
    with pytest.raises(BadInput, match="negative numbers"):
        hs.Reading.from_attention(weights, ["a", "b"])


def test_models_of_other_kinds_are_not_compared(tiny_bert: hs.Scope, tiny_t5: hs.Scope) -> None:
    with pytest.raises(BadInput, match=r"encoder attention and .* encoder and"):
        hs.compare(tiny_bert, tiny_t5, ["the cat sat ."] * 3, progress=False)


@pytest.mark.parametrize("name", ["positional", "rare_word", "massive_activation"])
def test_named_heads_of_an_encoder_and_decoder_are_scored_or_refused(name, tiny_t5) -> None:
    try:
        found = hs.circuits.named(tiny_t5, [name], texts=["the cat sat on the mat", "he ran ."])
    except HeadscopeError:
        return
    assert np.isfinite(found.table["value"]).all()


def test_named_heads_need_a_model_that_reads_text() -> None:
    with pytest.raises(BadInput, match="does not read text"):
        hs.circuits.named(hs.load("digits"), ["successor"])


@pytest.mark.parametrize("run", [hs.survey, hs.patterns, hs.atlas])
def test_a_corpus_of_unknown_words_is_refused(run, tiny_bert: hs.Scope) -> None:
    with pytest.raises(BadInput, match="Every word of the corpus is unknown"):
        run(tiny_bert, ["zzzz yyyy xxxx", "wwww vvvv"] * 8, segments="documents", progress=False)


def test_a_corpus_of_mostly_unknown_words_says_so(tiny_bert: hs.Scope) -> None:
    from headscope.surveys.table import account

    found = hs.survey(tiny_bert, ["the zzzz yyyy xxxx"] * 8, ["entropy"], progress=False)
    assert "does not know 75% of the words" in " ".join(account(found.metadata))
    assert tiny_scope("BertForMaskedLM").tokenizer.unk_token_id is not None
