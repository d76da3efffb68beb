"""Models open from folders, GGUF files and objects; what cannot open is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import AttentionNotRead, BadInput, HeadscopeError, TextTooLong, UnknownModel
from tests.tiny import tiny_model, tiny_scope, tiny_tokenizer

KINDS = {
    "encoder": "BertForMaskedLM",
    "decoder": "GPT2LMHeadModel",
    "encoder and decoder": "T5ForConditionalGeneration",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model as save_pretrained leaves it, which is also what the hub holds."""
    path = tmp_path_factory.mktemp("models") / "tiny-bert"
    tiny_model("BertForMaskedLM").save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_opens_as_it_was(kind: str, tmp_path: Path) -> None:
    model = tiny_model(KINDS[kind])
    model.save_pretrained(tmp_path / "saved")
    tiny_tokenizer().save_pretrained(tmp_path / "saved")
    opened = hs.load(tmp_path / "saved")
    assert type(opened.model).__name__ == KINDS[kind]
    assert opened.name == "saved"
    expected = hs.load(model, tiny_tokenizer()).read("the cat sat", target=None)
    found = opened.read("the cat sat")
    for part in expected.kinds:
        np.testing.assert_allclose(
            found.part(part).attention, expected.part(part).attention, atol=1e-6
        )


def test_device_dtype_and_name_are_options(folder: Path) -> None:
    scope = hs.load(str(folder), device="cpu", dtype="bfloat16", name="mine")
    assert scope.model.dtype == torch.bfloat16
    assert scope.name == "mine"
    reading = scope.read("the cat sat")
    assert reading.attention.dtype == np.float32
    np.testing.assert_allclose(reading.attention.sum("key"), 1, atol=2e-2)
    again = hs.load(tiny_model("BertModel"), tiny_tokenizer(), dtype=torch.float64)
    assert again.model.dtype == torch.float64
    assert hs.load(folder, attn_implementation="eager").model.config._attn_implementation == "eager"


def test_unusable_devices_and_dtypes_are_refused(folder: Path) -> None:
    for options in ({"device": "cuda:77"}, {"device": "toaster"}):
        with pytest.raises(BadInput, match=r"cannot be used here .* try device='cpu'"):
            hs.load(folder, **options)
        with pytest.raises(BadInput, match="try device='cpu'"):
            hs.load(tiny_model("BertModel"), tiny_tokenizer(), **options)
    with pytest.raises(BadInput, match="dtype 'float31'"):
        hs.load(tiny_model("BertModel"), tiny_tokenizer(), dtype="float31")


def test_an_unknown_name_offline_says_what_to_do() -> None:
    with pytest.raises(UnknownModel, match=r"There is no model 'no-such/model' here, .* folder"):
        hs.load("no-such/model")
    with pytest.raises(UnknownModel, match="There is no model"):
        hs.load("not a name at all!")


def test_a_folder_of_a_gguf_file_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "small.gguf").touch()
    with pytest.raises(BadInput, match=r"give that: .*small\.gguf"):
        hs.load(tmp_path)


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(BadInput, match=r"holds no model: it has no config\.json"):
        hs.load(tmp_path)
    (tmp_path / "config.json").write_text("{broken")
    with pytest.raises(BadInput, match=r"config\.json in .* cannot be read .*save the model again"):
        hs.load(tmp_path)
    (tmp_path / "config.json").write_text('{"some": "thing"}')
    with pytest.raises(BadInput, match="is not a model transformers can open"):
        hs.load(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "no-such-family"}')
    with pytest.raises(BadInput, match="is not a model transformers can open"):
        hs.load(tmp_path)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_text((folder / name).read_text())
    with pytest.raises(HeadscopeError, match=r"The weights of .* cannot be loaded"):
        hs.load(tmp_path)
    with pytest.raises(BadInput, match="is a file; give a model's folder, a GGUF file or a hub"):
        hs.load(tmp_path / "config.json")


def test_damaged_weights_are_refused(tmp_path: Path, folder: Path) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    whole = (folder / "model.safetensors").read_bytes()
    for damaged in (whole[:1000], b"", b"nonsense" * 100):
        (tmp_path / "model.safetensors").write_bytes(damaged)
        with pytest.raises(HeadscopeError, match=r"The weights of .* cannot be loaded") as caught:
            hs.load(tmp_path)
        assert "\n" not in str(caught.value)


def test_weights_of_another_size_are_refused(tmp_path: Path, folder: Path) -> None:
    for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    configuration = json.loads((folder / "config.json").read_text())
    configuration["hidden_size"] = 64
    (tmp_path / "config.json").write_text(json.dumps(configuration))
    with pytest.raises(HeadscopeError, match=r"The weights of .* cannot be loaded"):
        hs.load(tmp_path)


def test_gguf_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match="does not exist; check the path"):
        hs.load(tmp_path / "none.gguf")
    (tmp_path / "bad.gguf").write_bytes(b"GGUF but not really")
    with pytest.raises(HeadscopeError, match=r"The GGUF file .* cannot be read"):
        hs.load(tmp_path / "bad.gguf")


def test_a_tokenizer_of_another_model_is_refused() -> None:
    small = tiny_model("BertModel")
    small.resize_token_embeddings(40)
    with pytest.raises(BadInput, match=r"knows 64 tokens but the model embeds only 40; load the"):
        hs.load(small, tiny_tokenizer())


def test_things_that_are_no_models_are_refused() -> None:
    with pytest.raises(BadInput, match="Linear is not a transformers model"):
        hs.load(torch.nn.Linear(2, 2), tiny_tokenizer())
    with pytest.raises(BadInput, match=r"Give the tokenizer too: hs\.load\(model, tokenizer\)"):
        hs.load(tiny_model("BertModel"))


def test_a_model_without_attention_is_refused_when_read() -> None:
    scope = tiny_scope("MambaForCausalLM")
    with pytest.raises(AttentionNotRead, match="computed no attention"):
        scope.read("the cat")
    with pytest.raises(AttentionNotRead, match="computed no attention"):
        _ = scope.layers


def test_empty_texts_are_refused(tiny_bert: hs.Scope) -> None:
    for text in ("", "   \n\t"):
        with pytest.raises(BadInput, match=r"The text is empty; give at least one word\."):
            tiny_bert.read(text)
    with pytest.raises(BadInput, match="The text is empty"):
        tiny_bert.read([])
    with pytest.raises(BadInput, match="half a character"):
        tiny_bert.read("the \ud800 cat")


@pytest.mark.parametrize("fixture", ["tiny_bert", "tiny_gpt2", "tiny_llama"])
def test_a_long_text_is_refused_with_numbers_or_truncated(fixture: str, request) -> None:
    scope: hs.Scope = request.getfixturevalue(fixture)
    text = "cat " * 500
    with pytest.raises(TextTooLong, match=r"has 502 tokens .* at most 128; .*truncate=True"):
        scope.read(text)
    reading = scope.read(text, truncate=True, keep=())
    assert len(reading.tokens) == 128
    assert len(scope.read("dog " * 200, text, truncate=True, keep=()).tokens) == 128


def test_a_long_target_is_refused_too() -> None:
    sizes = {"d_model": 32, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "decoder_layers": 2}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    scope = tiny_scope("BartForConditionalGeneration", **sizes, **heads, max_position_embeddings=32)
    with pytest.raises(TextTooLong, match="at most 32"):
        scope.read("the cat", target="dog " * 40)
    short = scope.read("the cat", target="dog " * 40, truncate=True, keep=())
    assert len(short.part("decoder").query) == 32


def test_models_with_relative_positions_have_no_limit(tiny_t5: hs.Scope) -> None:
    assert tiny_t5.max_tokens is None
    assert len(tiny_t5.read("cat " * 600, keep=()).tokens) == 602


def test_roberta_uses_no_positions_before_its_padding_index() -> None:
    scope = tiny_scope("RobertaModel", max_position_embeddings=34)
    assert scope.max_tokens == 33
    assert len(scope.read("cat " * 31, keep=()).tokens) == 33
    with pytest.raises(TextTooLong):
        scope.read("cat " * 32)


def test_texts_and_pairs_must_match(tiny_bert: hs.Scope) -> None:
    with pytest.raises(BadInput, match="There are 2 texts but 1 second sentences"):
        tiny_bert.read_batch(["a", "b"], ["c"])
    assert tiny_bert.read_batch([]) == []
