"""Batches of segments of like length, so that little of a batch is padding."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.text.segments import Segment
from headscope.errors import BadInput
from headscope.text.batching import even_batches
from headscope.text.tokenise import Batch
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class TextBatch:
    """Model inputs, and the tokens that the encoder (or only stack) and the decoder read."""

    inputs: Batch
    tokens: list[Tokens]
    decoder_tokens: list[Tokens] | None
    documents: NDArray[np.int64]  # the numbers of the segments


class Encoder(Protocol):
    """What of a scope is needed to make batches of text."""

    @property
    def tokenizer(self) -> Any: ...
    @property
    def model(self) -> Any: ...
    @property
    def device(self) -> torch.device: ...
    @property
    def encoder_decoder(self) -> bool: ...
    def encode(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None = None,
        *,
        truncate: bool = False,
        max_tokens: int | None = None,
    ) -> Batch: ...


def chunks(segments: Iterable[Segment], size: int) -> Iterator[list[Segment]]:
    """Segments in portions that are measured, kept and resumed as one."""
    stream = iter(segments)
    while portion := list(itertools.islice(stream, size)):
        yield portion


def batches(
    scope: Encoder,
    segments: Sequence[Segment],
    *,
    most_tokens: int,
    longest: int | None,
    token_types: str = "proper",
) -> Iterator[TextBatch]:
    """Encode segments and group those of like length, at most `most_tokens` with padding.

    The grouping depends on the segments alone, so that the same chunk always gives the same
    batches, on any machine and after any restart.
    """
    segments, whole = _encode(scope, segments, longest)
    if whole is None:
        return
    lengths = [len(tokens) for tokens in whole.tokens]
    for rows in even_batches(lengths, most_tokens):
        yield _rows(scope, whole, segments, rows, token_types, longest)


def _encode(
    scope: Encoder, segments: Sequence[Segment], longest: int | None
) -> tuple[Sequence[Segment], Batch | None]:
    """The segments as one batch; those that a tokenizer makes nothing of are left out."""
    if not segments:
        return segments, None
    try:
        return segments, scope.encode(
            [segment.text for segment in segments],
            None if scope.encoder_decoder else [segment.pair for segment in segments],
            truncate=True,
            max_tokens=longest,
        )
    except BadInput:
        sound = [segment for segment in segments if _has_tokens(scope, segment)]
        if len(sound) == len(segments):
            raise
        return _encode(scope, sound, longest)


def _has_tokens(scope: Encoder, segment: Segment) -> bool:
    text = f"{segment.text}{segment.pair or ''}"
    return bool(text.strip()) and bool(scope.tokenizer(segment.text, segment.pair)["input_ids"])


def _rows(
    scope: Encoder,
    whole: Batch,
    segments: Sequence[Segment],
    rows: NDArray[np.intp],
    token_types: str,
    longest: int | None,
) -> TextBatch:
    tokens = [whole.tokens[row] for row in rows]
    width = max(len(of_row) for of_row in tokens)
    inputs = {name: tensor[rows.tolist(), :width] for name, tensor in whole.inputs.items()}
    if token_types == "zeros" and "token_type_ids" in inputs:
        inputs["token_type_ids"] = inputs["token_type_ids"] * 0
    decoder_tokens = None
    if scope.encoder_decoder:
        from headscope.reading.decoder_text import decoder_batch

        # without a second sentence the decoder reads the text again
        spoken = [segments[row].pair or segments[row].text for row in rows]
        decoder = decoder_batch(scope.model, scope.tokenizer, list(spoken)).to(scope.device)
        decoder_tokens = decoder.tokens
        inputs = {**inputs, **decoder.inputs}
        if longest is not None:
            decoder_tokens = [of_row.crop(longest) for of_row in decoder_tokens]
            for name in ("decoder_input_ids", "decoder_attention_mask"):
                inputs[name] = inputs[name][:, :longest]
    numbers = np.array([segments[row].number for row in rows], dtype=np.int64)
    return TextBatch(Batch(inputs, tokens), tokens, decoder_tokens, numbers)
