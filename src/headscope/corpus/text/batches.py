"""Batches of segments of like length, so that little of a batch is padding.

They are arrays in main memory, so a process without a model can make them and send them to one with
a model.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.text.segments import Segment
from headscope.errors import BadInput
from headscope.text.batching import even_batches
from headscope.text.tokenise import tokenised
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    import torch

    from headscope.reading import Scope


PADDING = -1  # class, segment and word of a position without a token


def side_arrays(tokens: Sequence[Tokens], width: int) -> dict[str, NDArray[Any]]:
    """The tokens of a batch, padded on the right to `width` positions, as named arrays."""
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    held = np.arange(width) < lengths[:, None]

    def padded(name: str, dtype: Any, padding: int) -> NDArray[Any]:
        array = np.full(held.shape, padding, dtype=dtype)
        array[held] = np.concatenate([getattr(of_row, name) for of_row in tokens])
        return array

    known = all((of_row.ids != -1).all() for of_row in tokens)
    return {
        "ids": padded("ids" if known else "comparable_ids", np.int64, 0),
        "classes": padded("classes", np.int8, PADDING),
        "segments": padded("segments", np.int8, PADDING),
        "words": padded("word_ids", np.int32, -1),
        "stops": padded("stops", np.bool_, 0),
    }


Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Amount:
    """How many texts and tokens there are, and how much of them is read."""

    documents: int = 0
    tokens: int = 0
    truncated: int = 0
    characters: int = 0
    unread_characters: int = 0
    words: int = 0  # tokens that stand for text
    unknown: int = 0  # of these, unknown to the vocabulary

    @staticmethod
    def of(every: Sequence[Tokens], unknown: int | None = None) -> Amount:
        """`unknown` is the vocabulary's token for unknown words."""
        cut = sum(tokens.is_truncated for tokens in every)
        characters = sum(len(text) for tokens in every for text in tokens.texts)
        unread = sum(_unread(tokens) for tokens in every if tokens.is_truncated)
        strange = [tokens.ids == unknown for tokens in every]
        words = [(tokens.word_ids >= 0) | of for tokens, of in zip(every, strange, strict=True)]
        return Amount(
            len(every), sum(map(len, every)), cut, characters, unread,
            sum(int(of.sum()) for of in words), sum(int(of.sum()) for of in strange),
        )  # fmt: skip

    def __add__(self, other: Amount) -> Amount:
        mine, theirs = dataclasses.astuple(self), dataclasses.astuple(other)
        return Amount(*(a + b for a, b in zip(mine, theirs, strict=True)))


def _unread(tokens: Tokens) -> int:
    """How many characters of a text come after its last token."""
    unread = 0
    for number, text in enumerate(tokens.texts):
        ends = tokens.spans[(tokens.segments == number) & (tokens.word_ids >= 0), 1]
        unread += len(text) - int(np.max(ends, initial=0))
    return unread


@dataclass(frozen=True)
class TextBatch:
    """Model inputs, and what is known of the tokens that each stack of the model reads."""

    inputs: Arrays  # b n each, padded on the right
    side: Arrays  # of the encoder, or the only stack: see `side_arrays`
    decoder_side: Arrays | None
    documents: NDArray[np.int64]  # the numbers of the segments
    amount: Amount
    tokens: list[Tokens] | None = None  # the texts themselves, unless removed
    decoder_tokens: list[Tokens] | None = None

    @property
    def is_full(self) -> bool:
        """Whether no text is padded."""
        sides = (self.side, self.decoder_side or self.side)
        return all(bool((side["classes"] != PADDING).all()) for side in sides)

    def without_text(self) -> TextBatch:
        """The batch without its texts, quick to send to another process."""
        return dataclasses.replace(self, tokens=None, decoder_tokens=None)

    def on(self, device: torch.device) -> dict[str, torch.Tensor]:
        """The inputs on a device."""
        return {name: sent(array, device) for name, array in self.inputs.items()}


def sent(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    """An array on a device; from pinned memory the copy does not wait until a GPU is idle."""
    import torch

    tensor = torch.from_numpy(array)
    if device.type != "cuda" or not array.size:
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def chunks(segments: Iterable[Segment], size: int) -> Iterator[list[Segment]]:
    """Segments in portions that are measured, saved and resumed as one."""
    stream = iter(segments)
    while portion := list(itertools.islice(stream, size)):
        yield portion


@dataclass(frozen=True)
class Encoder:
    """Makes batches of text; needs a model only if that has a decoder."""

    tokenizer: Any
    most_tokens: int  # of a batch, padding included
    longest: int | None = None  # tokens a text is cut to
    token_types: str = "proper"
    rows: int | None = None  # tokens that the model embeds
    with_decoder: Any = None  # a model whose decoder reads a text of its own

    @staticmethod
    def of(
        scope: Scope, most_tokens: int, longest: int | None = None, token_types: str = "proper"
    ) -> Encoder:
        from headscope.models.limits import embedded_tokens

        limits = [limit for limit in (longest, scope.max_tokens) if limit is not None]
        return Encoder(
            scope.tokenizer, most_tokens, min(limits, default=None), token_types,
            embedded_tokens(scope.model), scope.model if scope.encoder_decoder else None,
        )  # fmt: skip

    def batches(self, segments: Sequence[Segment]) -> Iterator[TextBatch]:
        """Encode segments and group those of similar length.

        The grouping depends on the segments alone, so that equal portions give equal batches.
        """
        segments, inputs, tokens = self._encode(segments)
        for rows in even_batches([len(one) for one in tokens], self.most_tokens):
            chosen = [segments[row] for row in rows]
            yield self._batch(inputs, [tokens[row] for row in rows], chosen, rows)

    def _encode(
        self, segments: Sequence[Segment]
    ) -> tuple[Sequence[Segment], Arrays, list[Tokens]]:
        """The segments as one batch; those without any token are left out."""
        if not segments:
            return segments, {}, []
        try:
            inputs, tokens = tokenised(
                self.tokenizer,
                [segment.text for segment in segments],
                None if self.with_decoder is not None else [segment.pair for segment in segments],
                truncate=True,
                max_tokens=self.longest,
            )
        except BadInput:
            sound = [segment for segment in segments if self._has_tokens(segment)]
            if len(sound) == len(segments):
                raise
            return self._encode(sound)
        largest = int(inputs["input_ids"].max())
        if self.rows is not None and largest >= self.rows:
            raise BadInput(
                f"The tokenizer gives token {largest} but the model embeds only {self.rows:,}; "
                "load the tokenizer that was saved with this model."
            )
        return segments, {**inputs}, tokens

    def _has_tokens(self, segment: Segment) -> bool:
        text = f"{segment.text}{segment.pair or ''}"
        return bool(text.strip()) and bool(self.tokenizer(segment.text, segment.pair)["input_ids"])

    def _batch(
        self,
        whole: Arrays,
        tokens: list[Tokens],
        segments: Sequence[Segment],
        rows: NDArray[np.intp],
    ) -> TextBatch:
        width = max(map(len, tokens))
        inputs = {name: array[rows, :width] for name, array in whole.items()}
        if self.token_types == "zeros" and "token_type_ids" in inputs:
            inputs["token_type_ids"] = inputs["token_type_ids"] * 0
        decoder_side = decoder_tokens = None
        if self.with_decoder is not None:
            decoder_inputs, decoder_tokens = self._decoder(segments)
            inputs |= decoder_inputs
            decoder_side = side_arrays(decoder_tokens, inputs["decoder_input_ids"].shape[1])
        numbers = np.array([segment.number for segment in segments], dtype=np.int64)
        side = side_arrays(tokens, width)
        amount = Amount.of(tokens, getattr(self.tokenizer, "unk_token_id", None))
        return TextBatch(inputs, side, decoder_side, numbers, amount, tokens, decoder_tokens)

    def _decoder(self, segments: Sequence[Segment]) -> tuple[Arrays, list[Tokens]]:
        """What the decoder reads: the second sentence, or without one the text again."""
        from headscope.reading.inputs.decoder_text import decoder_batch

        spoken = [segment.pair or segment.text for segment in segments]
        made = decoder_batch(self.with_decoder, self.tokenizer, list(spoken))
        inputs = {name: values[:, : self.longest].numpy() for name, values in made.inputs.items()}
        cut = [tokens.crop(self.longest or len(tokens)) for tokens in made.tokens]
        return inputs, cut
