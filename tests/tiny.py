"""Tiny random models with a word-level tokenizer, so that any family can be tested in a blink."""

from __future__ import annotations

import functools
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

import headscope as hs

SPECIALS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
WORDS = (
    "i went to the store . at , bought fresh straw ##berries and a cat sat on mat dog ran "
    "he she said that it was in of one two three red green blue house tree"
).split()
VOCABULARY = 64


@functools.lru_cache(maxsize=1)
def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """WordPiece over a few words; letters make up the rest, so nothing is unknown in ASCII."""
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    pieces = [*SPECIALS, *WORDS]
    pieces += [letter for letter in letters if letter not in pieces]
    pieces = pieces[:VOCABULARY]
    tokenizer = Tokenizer(
        models.WordPiece({piece: place for place, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        unk_token="[UNK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


# what each family calls the sizes that make it small
_SIZES: dict[str, dict[str, Any]] = {
    "GPT2Config": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
    "T5Config": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2},
}
_USUAL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 128,
}


def tiny_model(architecture: str, **options: Any) -> Any:
    """A random model of that class; sizes may be overridden."""
    family = getattr(transformers, architecture)
    configure = family.config_class
    sizes = {**_SIZES.get(configure.__name__, _USUAL), **options}
    configuration = configure(
        vocab_size=VOCABULARY,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=0,
        **sizes,
    )
    torch.manual_seed(0)
    model = family(configuration).eval()
    spread(model)
    return model


def spread(model: Any) -> None:
    """Larger weights than at initialisation: attention that is near uniform would hide errors."""
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 and "embed" not in name:
            torch.nn.init.normal_(parameter, std=0.25)


def tiny_scope(architecture: str, **options: Any) -> hs.Scope:
    return hs.load(tiny_model(architecture, **options), tiny_tokenizer(), name=architecture)
