"""A GGUF file's texts begin as the file says its model was trained."""

from __future__ import annotations

from pathlib import Path

import pytest

import headscope as hs
from tests.models.tiny_gguf import write_llama

pytest.importorskip("gguf")

# what the file says, and what llama.cpp takes where it says nothing
BEGINS = [
    (True, True, True),
    (True, False, False),
    (True, None, True),
    (False, True, True),
    (False, False, False),
    (False, None, False),
]


@pytest.mark.parametrize(("sentencepiece", "add_bos", "begins"), BEGINS)
def test_a_text_begins_with_bos_where_the_file_says_so(
    sentencepiece: bool, add_bos: bool | None, begins: bool, tmp_path: Path
) -> None:
    write_llama(tmp_path / "tiny.gguf", sentencepiece=sentencepiece, add_bos=add_bos)
    scope = hs.load(tmp_path / "tiny.gguf")
    tokens = scope.read("a cat").tokens
    assert (tokens[0] == "<s>") == begins
    assert tokens.count("<s>") == int(begins)


def test_a_tokenizer_saved_to_begin_with_bos_does_so(tmp_path: Path) -> None:
    from tests.text.tokenizers import byte_level
    from tests.tiny import tiny_model

    model = tiny_model("GPT2LMHeadModel")
    model.resize_token_embeddings(len(byte_level()))
    model.save_pretrained(tmp_path)
    byte_level().save_pretrained(tmp_path)
    assert hs.load(tmp_path).read("a cat").tokens[0] != "<|endoftext|>"
    settings = tmp_path / "tokenizer_config.json"
    settings.write_text(settings.read_text().replace("{", '{"add_bos_token": true,', 1))
    assert hs.load(tmp_path).read("a cat").tokens[0] == "<|endoftext|>"


@pytest.fixture(scope="module")
def gemma(gemma_file: Path) -> hs.Scope:
    return hs.load(gemma_file, name="Gemma 3 270M")


@pytest.mark.slow
def test_gemma_begins_with_bos_and_then_answers_sensibly(gemma: hs.Scope) -> None:
    """Its file says that a text begins with <bos>; without it, it repeats the text's own words."""
    drink = "When Mary and John went to the store, John gave a drink to"
    for text in ("The capital of France is", drink):
        assert list(gemma.read(text).tokens).count("<bos>") == 1
        assert gemma.read(text).tokens[0] == "<bos>"
    first = gemma.next_token(drink)[0]
    assert first.token.strip("␣") == "Mary" and first.probability == pytest.approx(0.85, abs=0.05)
    capital = [one.token.strip("␣") for one in gemma.next_token("The capital of France is")]
    assert "Paris" in capital and capital[0] != "France"
