"""What a decoder reads is tokenised as a target: in its own language and vocabulary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import headscope as hs
from headscope.errors import BadInput
from tests.tiny import tiny_model

ENGLISH = ["I went to the store", "she is at home", "the cat sat on the mat", "we saw it"] * 8
FRENCH = ["je suis allé au magasin", "elle est à la maison", "le chat est là"] * 10


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A Marian tokenizer with a sentencepiece model for each language."""
    trainer = pytest.importorskip("sentencepiece")
    from transformers import MarianTokenizer

    folder: Path = tmp_path_factory.mktemp("marian")
    pieces: dict[str, int] = {"</s>": 0, "<unk>": 1}
    for name, lines in (("source", ENGLISH), ("target", FRENCH)):
        trainer.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_prefix=str(folder / name),
            vocab_size=60,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        (folder / f"{name}.model").rename(folder / f"{name}.spm")
        model = trainer.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        for number in range(model.get_piece_size()):
            pieces.setdefault(model.id_to_piece(number), len(pieces))
    pieces["<pad>"] = len(pieces)
    (folder / "vocab.json").write_text(json.dumps(pieces))
    return MarianTokenizer(
        str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json")
    )


def tiny_translator(architecture: str, words: int, pad: int) -> Any:
    sizes = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    layers = {"encoder_layers": 1, "decoder_layers": 1, "max_position_embeddings": 64}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    model = tiny_model(architecture, **sizes, **layers, **heads)
    model.resize_token_embeddings(words)
    model.config.pad_token_id = pad
    return model


def test_a_translation_models_target_is_cut_with_the_targets_vocabulary(marian: Any) -> None:
    model = tiny_translator("MarianMTModel", len(marian), marian.pad_token_id)
    model.config.decoder_start_token_id = marian.pad_token_id
    model.generation_config.decoder_start_token_id = marian.pad_token_id
    scope = hs.load(model, marian)
    text = "je suis allé au magasin"
    reading = scope.read("I went to the store", target=text)
    labels = marian(text_target=text, return_tensors="pt")["input_ids"]
    expected = model.prepare_decoder_input_ids_from_labels(labels)[0].tolist()
    assert reading.part("decoder").query.ids.tolist() == expected
    assert labels[0].tolist() != marian(text)["input_ids"]
    assert reading.part("encoder").query.ids.tolist() == marian("I went to the store")["input_ids"]
    assert scope.causal is False  # it reads with an encoder, and does not only look back


def test_the_target_language_of_mbart_stands_first(tmp_path: Path) -> None:
    from transformers import MBartTokenizer

    tokenizer = MBartTokenizer(
        vocab=[("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
        + [(f"▁{word}", -1.0) for word in "the cat sat le chat est là".split()]
    )
    model = tiny_translator("MBartForConditionalGeneration", len(tokenizer), 1)
    scope = hs.load(model, tokenizer)
    tokenizer.src_lang = "en_XX"
    with pytest.raises(BadInput, match="code of the same form as"):
        scope.read("the cat sat", target="le chat")
    assert tokenizer.tgt_lang is None
    tokenizer.tgt_lang = "fr_XX"
    reading = scope.read("the cat sat", target="le chat")
    labels = tokenizer(text_target="le chat", return_tensors="pt")["input_ids"]
    expected = model.prepare_decoder_input_ids_from_labels(labels)[0].tolist()
    assert reading.part("decoder").query.ids.tolist() == expected
    assert reading.part("decoder").query.spellings[0] == "fr_XX"
    assert reading.part("encoder").query.spellings[-1] == "en_XX"
    assert tokenizer("the cat")["input_ids"][-1] == tokenizer.convert_tokens_to_ids("en_XX")


def test_a_translator_is_made_to_write_the_target_language(tmp_path: Path) -> None:
    from transformers import NllbTokenizer

    letters = ["<s>", "<pad>", "</s>", "<unk>", "▁", *"thecasl"]
    tokenizer = NllbTokenizer(vocab={letter: place for place, letter in enumerate(letters)})
    tokenizer.src_lang, tokenizer.tgt_lang = "eng_Latn", "fra_Latn"
    model = tiny_translator("M2M100ForConditionalGeneration", len(tokenizer), 1)
    model.generation_config.decoder_start_token_id = 2
    torch.manual_seed(0)
    written = hs.load(model, tokenizer).generate("the cat sat", max_new_tokens=3)
    assert written.part("decoder").query.spellings[1] == "fra_Latn"
    read = hs.load(model, tokenizer).read("the cat", target="la").part("decoder").query
    assert read.spellings == ("</s>", "fra_Latn", "▁", "l", "a")
