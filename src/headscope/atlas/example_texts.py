"""Texts as a model's inputs: those that an atlas keeps, or a new one.

In a model with two stacks a text has two sides: what the encoder read, and what the decoder wrote.
The decoder's state depends on both, so its examples need texts kept on both sides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.reading.inputs.decoder_text import decoder_batch, encode_both
from headscope.text.spelling import TokenClass

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas
    from headscope.reading import Scope
    from headscope.text.tokenise import Text

MOST_TOKENS = 2048  # texts in a batch
Ids = NDArray[np.int64]
Inputs = dict[str, Tensor]


@dataclass(frozen=True)
class InputText:
    """What a model was given to read: token numbers, which sentence each is of, what it wrote."""

    document: int
    ids: Ids
    segments: Ids
    written: Ids | None = None  # by the decoder; None where no query is one of its tokens

    @property
    def queries(self) -> int:
        return len(self.ids if self.written is None else self.written)

    @property
    def longest(self) -> int:
        return max(len(self.ids), self.queries)


def kept_texts(atlas: Atlas, scope: Scope, kind: Kind) -> list[InputText]:
    """The atlas's texts that hold a kind's queries, in the order of the corpus."""
    rows: Any = atlas.frame("documents")
    writes = scope.encoder_decoder and kind != "encoder"
    reads = "encoder" if scope.encoder_decoder else kind
    written: dict[int, Any] = {}
    if writes:
        of_decoder = rows[rows["kind"] == "decoder"]
        written = dict(zip(of_decoder["document"], of_decoder["ids"], strict=True))
    texts = [
        _kept(row, written.get(row.document))
        for row in rows[rows["kind"] == reads].itertuples()
        if not writes or row.document in written
    ]
    if not texts:
        raise BadInput(
            f"The texts of this atlas give no {kind} attention; make an atlas of that kind."
        )
    return texts


def stamp_of(atlas: Atlas, texts: Sequence[InputText]) -> str:
    """A stamp of what vectors depend on: the weights and the texts."""
    made_of = hashlib.sha256(str(atlas.description.get("weights")).encode())
    for text in texts:
        both = () if text.written is None else ([len(text.written)], text.written)
        for part in ([text.document, len(text.ids)], text.ids, text.segments, *both):
            made_of.update(np.asarray(part, dtype="<i8").tobytes())
    return made_of.hexdigest()


def batched(
    scope: Scope, texts: Sequence[InputText]
) -> Iterator[tuple[Sequence[InputText], Inputs]]:
    """Batches of texts of similar length, the longest first."""
    left = sorted(texts, key=lambda text: (text.longest, text.document), reverse=True)
    while left:
        count = max(1, MOST_TOKENS // left[0].longest)
        some, left = left[:count], left[count:]
        yield some, inputs_of(scope, some)


def inputs_of(scope: Scope, texts: Sequence[InputText]) -> Inputs:
    """One padded batch on the model's device."""
    ids, seen = _padded([text.ids for text in texts])
    inputs = {"input_ids": ids, "attention_mask": seen}
    if "token_type_ids" in scope.tokenizer.model_input_names:  # RoBERTa takes zeros only
        inputs["token_type_ids"] = _padded([text.segments for text in texts])[0]
    if scope.encoder_decoder:
        inputs |= _of_decoder(scope, texts)
    return {name: tensor.to(scope.device) for name, tensor in inputs.items()}


def new_text(scope: Scope, text: Text | Reading, text_pair: Text | None, kind: Kind) -> InputText:
    """The inputs of a text, or of a reading, token by token."""
    if isinstance(text, Reading):
        if text_pair is not None:
            raise BadInput("A reading has its second sentence already; leave text_pair out.")
        return _of_reading(scope, text, kind)
    if not scope.encoder_decoder:
        tokens = scope.encode([text], [text_pair]).tokens[0]
        return InputText(-1, _numbers(tokens.ids), _numbers(tokens.segments))
    batch, written = encode_both(scope, [text], [text_pair])
    of_kind = None if kind == "encoder" else _numbers(written[0].ids)
    read = batch.tokens[0]
    return InputText(-1, _numbers(read.ids), _numbers(read.segments), of_kind)


def typed(tokenizer: Any, rows: Any) -> tuple[str, str | None]:
    """A text as people type it, from its rows of the table `documents`: one row per stack."""
    stacks = {str(row.kind): _sentences(tokenizer, row) for row in rows.itertuples()}
    if "encoder" in stacks and "decoder" in stacks:
        return stacks["encoder"][0], stacks["decoder"][0]
    first, second = next(iter(stacks.values()))
    return first, second or None


def read_again(scope: Scope, rows: Any) -> Reading:
    """A kept text as a reading, token for token: typed again, a cut word may differ."""
    reading = scope.read(*typed(scope.tokenizer, rows), truncate=True)
    kept: dict[Kind, Any] = {row.kind: row for row in rows.itertuples()}
    if all(np.array_equal(reading.part(kind).query.ids, kept[kind].ids) for kind in kept):
        return reading
    row, written = next(iter(kept.values())), None
    if scope.encoder_decoder:
        if "encoder" not in kept:
            raise BadInput(
                "The atlas stores only the decoder's side of this text, so it cannot be read again."
            )
        row, written = kept["encoder"], getattr(kept.get("decoder"), "ids", None)
    return scope.read_inputs(scope.accepted(inputs_of(scope, [_kept(row, written)])))


def _kept(row: Any, written: Any) -> InputText:
    """The inputs of a row of the table `documents`, with the decoder's token ids if it has any."""
    of_decoder = None if written is None else _numbers(written)
    return InputText(int(row.document), _numbers(row.ids), _numbers(row.segments), of_decoder)


def _sentences(tokenizer: Any, row: Any) -> tuple[str, str]:
    parts: tuple[list[int], list[int]] = ([], [])
    for token, segment, its_class in zip(row.ids, row.segments, row.classes, strict=True):
        if its_class > TokenClass.SPECIAL:  # the tokenizer adds special tokens itself
            parts[int(segment)].append(int(token))
    first, second = (str(tokenizer.decode(ids)).strip() for ids in parts)
    return first, second


def _of_reading(scope: Scope, reading: Reading, kind: Kind) -> InputText:
    if reading.pictures or reading.sound is not None:
        raise BadInput("Give a text to compare with the texts of the atlas.")
    asked = reading.part(kind)
    read = reading.part("cross").key if kind == "decoder" and scope.encoder_decoder else asked.key
    writes = scope.encoder_decoder and kind != "encoder"
    if (read.ids < 0).any() or (asked.query.ids < 0).any():
        raise BadInput("The tokens of this reading are not the model's own; read its text instead.")
    written = _numbers(asked.query.ids) if writes else None
    return InputText(-1, _numbers(read.ids), _numbers(read.segments), written)


def _of_decoder(scope: Scope, texts: Sequence[InputText]) -> Inputs:
    """The decoder's token ids; only the start token if only the encoder is read."""
    written = [text.written for text in texts if text.written is not None]
    if not written:
        return decoder_batch(scope.model, scope.tokenizer, [None] * len(texts)).inputs
    ids, seen = _padded(written)
    return {"decoder_input_ids": ids, "decoder_attention_mask": seen}


def _padded(rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """b t of numbers, and 1 where there is one."""
    numbers = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    seen = torch.zeros_like(numbers)
    for row, its in enumerate(rows):
        numbers[row, : len(its)] = torch.from_numpy(its)
        seen[row, : len(its)] = 1
    return numbers, seen


def _numbers(row: Any) -> Ids:
    return np.array(row, dtype=np.int64)
