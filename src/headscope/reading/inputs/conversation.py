"""Readings of conversations: messages and documents by the model's chat template, with spans."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headscope.errors import BadInput, TextTooLong
from headscope.reading.arguments import check_layers
from headscope.reading.checks import NOTED
from headscope.reading.collecting.keeping import Keeping, WhatToKeep
from headscope.reading.collecting.run import collect
from headscope.reading.inputs.generation import written_ids
from headscope.reading.reading import Reading
from headscope.text.chat import Document, Message, Rendered, Span, render
from headscope.text.of_ids import tokens_of_ids
from headscope.text.tokenise import Batch
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope

Messages = Sequence[Message] | str
Documents = Sequence[Document] | Mapping[str, str]

PLAIN = (
    "The model has no chat template, so its messages were laid out plainly, each after its role."
)


def conversation_reading(
    scope: Scope,
    messages: Messages,
    documents: Documents,
    answer: str | None,
    layers: Collection[int] | None,
    keep: WhatToKeep,
    memory: str | int | None,
) -> Reading:
    """What the model attends to while it reads a conversation, with its spans."""
    keeping = Keeping.of(keep, memory)
    check_layers(scope, layers)
    rendered = rendered_for(scope, messages, documents, answer)
    batch = encoded(scope, rendered)
    reading = collect(scope, batch.inputs, batch.tokens, batch.tokens, layers, keeping)[0]
    return _with_spans(reading, rendered.spans, rendered.template)


def generated_conversation(
    scope: Scope,
    messages: Messages,
    documents: Documents,
    max_new_tokens: int,
    keep: WhatToKeep,
    memory: str | int | None,
    options: dict[str, Any],
) -> Reading:
    """A conversation with the answer that the model writes, with the tokens as it wrote them."""
    keeping = Keeping.of(keep, memory)
    rendered = rendered_for(scope, messages, documents)
    batch = encoded(scope, rendered)
    whole = written_ids(scope, batch, max_new_tokens, options)
    asked = batch.tokens[0]
    said = tokens_of_ids(scope.tokenizer, whole[0, len(asked) :].tolist())
    tokens = _joined(asked, said)
    inputs = {"input_ids": whole, "attention_mask": torch.ones_like(whole)}
    reading = collect(scope, inputs, [tokens], [tokens], None, keeping)[0]
    reading.metadata["prompt_tokens"] = len(asked)
    answered = rendered.answered(said.texts[0])
    return _with_spans(reading, answered.spans, rendered.template)


def rendered_for(
    scope: Scope, messages: Messages, documents: Documents = (), answer: str | None = None
) -> Rendered:
    """Messages and documents as a decoder reads them."""
    if scope.tokenizer is None:
        raise BadInput(f"{scope.name} has no tokenizer; load the model with one to read messages.")
    if scope.encoder_decoder or not scope.causal:
        raise BadInput(
            f"{scope.name} does not continue text, so it cannot answer a question or hold a "
            "conversation; load a decoder (on the command line with -m)."
        )
    return render(scope.tokenizer, messages, documents, answer=answer)


def encoded(scope: Scope, rendered: Rendered) -> Batch:
    """The text as one batch; a template writes its special tokens itself."""
    try:
        return scope.encode([rendered.text], add_special_tokens=not rendered.template)
    except TextTooLong as error:
        counted = str(error).split(";", 1)[0].replace("The text has", "The conversation has")
        also = "shorten the answer, or " if rendered.of("answer") else ""
        raise TextTooLong(f"{counted}; {also}remove documents or earlier messages.") from None


def _with_spans(reading: Reading, spans: tuple[Span, ...], template: bool) -> Reading:
    if not template:
        reading.metadata[NOTED] = [*reading.metadata.get(NOTED, ()), PLAIN]
    return dataclasses.replace(reading, spans=spans)


def _joined(first: Tokens, second: Tokens) -> Tokens:
    """The tokens that were read and those written after them, as one text."""
    text = first.texts[0]
    words = len(first.word_texts)
    shifted = np.where(second.spans < 0, -1, second.spans + len(text)).astype(np.int32)
    numbers = np.where(second.word_ids < 0, -1, second.word_ids + words).astype(np.int32)
    return Tokens(
        spellings=first.spellings + second.spellings,
        labels=first.labels + second.labels,
        ids=np.concatenate([first.ids, second.ids]),
        classes=np.concatenate([first.classes, second.classes]),
        segments=np.concatenate([first.segments, second.segments]),
        word_ids=np.concatenate([first.word_ids, numbers]),
        spans=np.concatenate([first.spans, shifted]),
        texts=(text + second.texts[0],),
        word_texts=first.word_texts + second.word_texts,
    )
