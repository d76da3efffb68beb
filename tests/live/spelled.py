"""Tiny models of every family of live pages, with tokenizers that spell as that family's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import transformers
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)
from tokenizers import processors as after
from transformers import PreTrainedTokenizerFast

import headscope as hs
from tests.browser.live import WORDS

CORPUS = [" ".join(WORDS)] * 3 + ["the boats go out every morning and the town waits on the pier"]
ASCII = [" ".join(word for word in WORDS if word.isascii())]
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BERT = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]", "unk_token": "[UNK]"}
ENDS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def _trained(tokenizer: Tokenizer, kind: Any, specials: list[str], size: int, **more: Any) -> None:
    trainer = kind(vocab_size=size, special_tokens=specials, show_progress=False, **more)
    tokenizer.train_from_iterator(CORPUS, trainer)


def pieces(types: bool) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    _trained(tokenizer, trainers.WordPieceTrainer, ["[PAD]", *BERT.values()], 240)
    tokenizer.post_processor = after.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    names = ["input_ids", *(["token_type_ids"] if types else []), "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", model_input_names=names, **BERT
    )


def in_bytes(specials: list[str], split: str | None = None) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    own = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)
    if split:
        cut = pre_tokenizers.Split(Regex(split), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, own])
    else:
        tokenizer.pre_tokenizer = own
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    _trained(tokenizer, trainers.BpeTrainer, specials, 400, initial_alphabet=alphabet)
    tokenizer.post_processor = after.ByteLevel(trim_offsets=False)
    return tokenizer


def gpt2() -> PreTrainedTokenizerFast:
    end = "<|endoftext|>"
    return PreTrainedTokenizerFast(
        tokenizer_object=in_bytes([end]), bos_token=end, eos_token=end, unk_token=end
    )


def roberta() -> PreTrainedTokenizerFast:
    tokenizer = in_bytes(["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.add_special_tokens([mask := AddedToken("<mask>", lstrip=True, special=True)])
    tokenizer.post_processor = after.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token="<s>", sep_token="</s>", pad_token="<pad>",
        mask_token=mask, **ENDS,
    )  # fmt: skip


def qwen() -> PreTrainedTokenizerFast:
    tokenizer = in_bytes(["<|endoftext|>", "<|im_start|>", "<|im_end|>"], SPLIT)
    tokenizer.normalizer = normalizers.NFC()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )


def llama3() -> PreTrainedTokenizerFast:
    begin, end = "<|begin_of_text|>", "<|end_of_text|>"
    tokenizer = in_bytes([begin, end], SPLIT)
    own = after.TemplateProcessing(single=f"{begin} $A", special_tokens=[(begin, 0)])
    tokenizer.post_processor = after.Sequence([after.ByteLevel(trim_offsets=False), own])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=begin, eos_token=end)


def marked(normalizer: Any, pre_tokenizer: Any = None) -> PreTrainedTokenizerFast:
    """SentencePiece's: ▁ before words; letters that the vocabulary lacks are spelled in bytes."""
    specials = [*ENDS.values(), *(f"<0x{byte:02X}>" for byte in range(256))]
    base = Tokenizer(models.BPE())
    base.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    base.train_from_iterator(
        ASCII, trainers.BpeTrainer(vocab_size=600, special_tokens=specials, show_progress=False)
    )
    tokenizer = Tokenizer.from_str(base.to_str())
    tokenizer.model.byte_fallback, tokenizer.model.fuse_unk = True, True
    tokenizer.model.unk_token = "<unk>"
    rest = Tokenizer(tokenizer.model)  # the bytes are no added tokens, which a text could spell
    rest.normalizer = normalizer
    if pre_tokenizer is not None:
        rest.pre_tokenizer = pre_tokenizer
    rest.add_special_tokens(list(ENDS.values()))
    rest.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    rest.post_processor = after.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", rest.token_to_id("<s>"))]
    )
    return PreTrainedTokenizerFast(tokenizer_object=rest, **ENDS)


BLANK = normalizers.Replace(" ", "▁")
LLAMA = {"num_key_value_heads": 2}
GEMMA = {"num_key_value_heads": 2, "head_dim": 8}
FAMILIES: dict[str, tuple[str, Callable[[], PreTrainedTokenizerFast], dict[str, Any]]] = {
    "bert": ("BertForPreTraining", lambda: pieces(True), {}),
    "distilbert": ("DistilBertForMaskedLM", lambda: pieces(False), {}),
    "electra": ("ElectraForMaskedLM", lambda: pieces(True), {}),
    "roberta": ("RobertaForMaskedLM", roberta, {}),
    "gpt2": ("GPT2LMHeadModel", gpt2, {}),
    "llama 2": (
        "LlamaForCausalLM",
        lambda: marked(normalizers.Sequence([normalizers.Prepend("▁"), BLANK])),
        LLAMA,
    ),
    "llama 3": ("LlamaForCausalLM", llama3, LLAMA),
    "mistral": ("MistralForCausalLM", lambda: marked(BLANK), LLAMA),
    "qwen2": ("Qwen2ForCausalLM", qwen, LLAMA),
    "qwen3": ("Qwen3ForCausalLM", qwen, GEMMA),
    "smollm3": ("SmolLM3ForCausalLM", llama3, LLAMA),
    "gemma": (
        "GemmaForCausalLM",
        lambda: marked(BLANK, pre_tokenizers.Split(" ", "merged_with_previous")),
        GEMMA,
    ),
    "gemma2": ("Gemma2ForCausalLM", lambda: marked(BLANK), {**GEMMA, "sliding_window": 6}),
}


def scope_of(family: str) -> hs.Scope:
    name, make, options = FAMILIES[family]
    tokenizer, kind = make(), getattr(transformers, name)
    sizes: dict[str, Any] = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64, "max_position_embeddings": 512,
    }  # fmt: skip
    if family == "gpt2":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512}
    if family == "distilbert":
        sizes = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
    ends = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
    config = kind.config_class(vocab_size=len(tokenizer), **sizes, **ends, **options)
    transformers.set_seed(0)
    model = kind(config).eval()
    return hs.load(model, tokenizer, name=family)
