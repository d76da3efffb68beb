"""Tokenizers of every sort, made here: pieces, bytes, blanks as letters, single characters."""

from __future__ import annotations

import functools
from typing import Any

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import ByT5Tokenizer, CanineTokenizer, PreTrainedTokenizerFast

from tests.tiny import tiny_tokenizer

LINES = [
    "I went to the store. At the store, I bought fresh strawberries!",
    "it's a well-known naïve café, don't you think?  two  spaces\nnew line\ttab",
    "שלום עולם مرحبا بالعالم 我喜欢草莓。 ありがとう 한국어 नमस्ते",
    "👩‍👩‍👧‍👦 😀 👍🏽 🇩🇪 e\u0301 zero\u200bwidth",
] * 4


@functools.cache
def byte_level() -> Any:
    """GPT-2's sort: bytes shown as letters, so that a character may be cut in two."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(LINES, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )


@functools.cache
def roberta() -> Any:
    """Byte level between <s> and </s>, two separators between sentences."""
    inner = Tokenizer.from_str(byte_level().backend_tokenizer.to_str())
    inner.add_special_tokens(["<s>", "</s>", "<pad>"])
    sep, cls = ("</s>", inner.token_to_id("</s>")), ("<s>", inner.token_to_id("<s>"))
    inner.post_processor = processors.RobertaProcessing(sep, cls)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
    )


@functools.cache
def sentence_piece() -> Any:
    """T5's and Llama's sort: blanks become ▁, unknown characters fall back to bytes."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
        show_progress=False,
    )
    tokenizer.train_from_iterator(LINES, trainer)
    end = tokenizer.token_to_id("</s>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", end)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


@functools.cache
def bytes_in_python() -> Any:
    return ByT5Tokenizer()


@functools.cache
def characters_in_python() -> Any:
    return CanineTokenizer()


TOKENIZERS = {
    "word pieces": tiny_tokenizer,
    "byte level": byte_level,
    "RoBERTa": roberta,
    "sentence pieces": sentence_piece,
    "bytes, in Python": bytes_in_python,
    "characters, in Python": characters_in_python,
}
