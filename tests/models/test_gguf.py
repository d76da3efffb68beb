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
