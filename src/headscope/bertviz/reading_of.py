"""The attention and tokens that BertViz users have, as a reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.text.tokens import Tokens

_NONE = (
    "The attention holds None instead of weights: the model ran a fast attention that does not "
    "store them; load it with attn_implementation='eager' and output_attentions=True, or use "
    "hs.load(model, tokenizer).read(text)."
)


def reading_of(
    attention: Any,
    tokens: Sequence[str] | None,
    sentence_b_start: int | None,
    prettify_tokens: bool,
    encoder_attention: Any,
    decoder_attention: Any,
    cross_attention: Any,
    encoder_tokens: Sequence[str] | None,
    decoder_tokens: Sequence[str] | None,
    include_layers: Sequence[int] | None,
) -> Reading:
    for one in (attention, encoder_attention, decoder_attention, cross_attention):
        if isinstance(one, tuple | list) and any(layer is None for layer in one):
            raise BadInput(_NONE)

    def spelled(given: Sequence[str] | None, start: int | None = None) -> Any:
        if given is None or prettify_tokens:
            return given
        plain = Tokens.plain([str(token) for token in given], start)
        return replace(plain, labels=plain.spellings)

    return Reading.from_attention(
        attention,
        spelled(tokens, sentence_b_start),
        sentence_b_start=sentence_b_start,
        encoder_attention=encoder_attention,
        decoder_attention=decoder_attention,
        cross_attention=cross_attention,
        encoder_tokens=spelled(encoder_tokens, sentence_b_start),
        decoder_tokens=spelled(decoder_tokens),
        layers=include_layers,
    )
