"""The decoder's inputs in an encoder–decoder model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headscope.errors import BadInput
from headscope.models.placement import device_of
from headscope.text.spelling import TokenClass, labels_of
from headscope.text.targets import as_target
from headscope.text.tokenise import Batch, Text, tokenise
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope


def decoder_batch(
    model: Any,
    tokenizer: Any,
    targets: list[Text | None],
    *,
    max_tokens: int | None = None,
    truncate: bool = False,
) -> Batch:
    """The start token followed by the target without its end, as the decoder saw in training."""
    given = [target for target in targets if target is not None]
    read: list[Tokens] = []
    if given:
        with as_target(tokenizer):
            read = tokenise(tokenizer, given, max_tokens=max_tokens, truncate=truncate).tokens
    waiting = iter(read)
    batch = [
        _first(model, tokenizer) if target is None else _shifted(model, tokenizer, next(waiting))
        for target in targets
    ]
    longest = max(len(tokens) for tokens in batch)
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    ids = torch.full((len(batch), longest), pad, dtype=torch.long)
    mask = torch.zeros((len(batch), longest), dtype=torch.long)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = torch.from_numpy(tokens.ids)
        mask[row, : len(tokens)] = 1
    return Batch({"decoder_input_ids": ids, "decoder_attention_mask": mask}, batch)


def encode_both(
    scope: Scope,
    texts: Sequence[Text],
    targets: list[Text | None],
    *,
    truncate: bool = False,
    max_tokens: int | None = None,
) -> tuple[Batch, list[Tokens]]:
    """The inputs of both stacks of an encoder–decoder model, and the decoder's tokens."""
    limits = [limit for limit in (max_tokens, scope.max_tokens) if limit is not None]
    batch = scope.encode(texts, truncate=truncate, max_tokens=max_tokens)
    decoder = decoder_batch(
        scope.model,
        scope.tokenizer,
        targets,
        max_tokens=min(limits, default=None),
        truncate=truncate,
    ).to(scope.device)
    return Batch({**batch.inputs, **decoder.inputs}, batch.tokens), decoder.tokens


def _first(model: Any, tokenizer: Any) -> Tokens:
    return _lead(tokenizer, _start_token(model))


def _shifted(model: Any, tokenizer: Any, read: Tokens) -> Tokens:
    """Shift by one position to the right, after the model's first token (mBART: the language)."""
    shift = getattr(model, "prepare_decoder_input_ids_from_labels", None)
    if shift is None:
        return _joined(_first(model, tokenizer), read)
    labels = torch.from_numpy(read.ids)[None].to(device_of(model))
    try:
        first = int(shift(labels)[0, 0])
    except (TypeError, ValueError, AttributeError):  # no start token in the configuration
        return _joined(_first(model, tokenizer), read)
    return _joined(_lead(tokenizer, first), read)


def _start_token(model: Any) -> int:
    for holder in (getattr(model, "generation_config", None), model.config):
        start = getattr(holder, "decoder_start_token_id", None)
        if start is not None:
            return int(start)
    raise BadInput(
        "The model has no decoder_start_token_id; set scope.model.config.decoder_start_token_id."
    )


def _lead(tokenizer: Any, start: int) -> Tokens:
    spelled = str(tokenizer.convert_ids_to_tokens([start])[0])
    return Tokens(
        spellings=(spelled,),
        labels=labels_of(tokenizer, [spelled]),
        ids=np.array([start], dtype=np.int64),
        classes=np.array([TokenClass.CLS], dtype=np.int8),
        segments=np.zeros(1, dtype=np.int8),
        word_ids=np.full(1, -1, dtype=np.int32),
        spans=np.full((1, 2), -1, dtype=np.int32),
    )


def _joined(lead: Tokens, read: Tokens) -> Tokens:
    ends = read.classes[-1] < TokenClass.PUNCTUATION  # the end of the text, or its language
    rest = read.crop(len(read) - 1 if ends else len(read))
    return Tokens(
        spellings=lead.spellings + rest.spellings,
        labels=lead.labels + rest.labels,
        ids=np.concatenate([lead.ids, rest.ids]),
        classes=np.concatenate([lead.classes, rest.classes]),
        segments=np.concatenate([lead.segments, rest.segments]),
        word_ids=np.concatenate([lead.word_ids, rest.word_ids]),
        spans=np.concatenate([lead.spans, rest.spans]),
        texts=rest.texts,
        word_texts=rest.word_texts,
    )
