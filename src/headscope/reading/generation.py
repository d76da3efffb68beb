"""A model writes on, and what it attended to while it read all of it is kept."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.capture import Call
from headscope.errors import BadInput
from headscope.interrupts import safe_point, stopped_safely
from headscope.models.evaluation import evaluating
from headscope.reading.collecting.keeping import Keeping, WhatToKeep
from headscope.reading.collecting.run import collect
from headscope.reading.reading import Reading
from headscope.text.targets import language_token
from headscope.text.token_class import TokenClass
from headscope.text.tokens import Tokens
from headscope.text.vocabulary import Vocabulary
from headscope.text.words import word_spans, words_of_spans

if TYPE_CHECKING:
    from headscope.reading.scope import Scope


def generated_reading(
    scope: Scope,
    prompt: str,
    max_new_tokens: int,
    keep: WhatToKeep,
    memory: str | int | None,
    options: dict[str, Any],
) -> Reading:
    keeping = Keeping.of(keep, memory)
    if not hasattr(scope.model, "generate") or not scope.model.can_generate():
        raise BadInput(f"{scope.name} does not generate text; load a model that does.")
    batch = scope.encode([prompt])
    options = {"do_sample": False, "use_cache": cache_fits(scope), **options}
    language = language_token(scope.tokenizer) if scope.encoder_decoder else None
    if language is not None:
        options.setdefault("forced_bos_token_id", language)
    with stopped_safely(), torch.no_grad(), contextlib.ExitStack() as stack:
        stack.enter_context(evaluating(scope.model))
        between_tokens = scope.model.register_forward_pre_hook(_may_stop)
        stack.callback(between_tokens.remove)
        if scope.edits:
            stack.enter_context(scope.capture(_see_nothing, lazy=True))
        written = scope.model.generate(
            **{name: batch.inputs[name] for name in ("input_ids", "attention_mask")},
            max_new_tokens=max_new_tokens,
            **options,
        )
    whole = getattr(written, "sequences", written)[:1]
    tokens = tokens_of_ids(scope.tokenizer, whole[0].tolist())
    if scope.encoder_decoder:
        inputs = {**batch.inputs, "decoder_input_ids": whole}
        reading = collect(scope, inputs, [tokens], batch.tokens, None, keeping)[0]
        prompt_tokens = 1
    else:
        inputs = {"input_ids": whole, "attention_mask": torch.ones_like(whole)}
        reading = collect(scope, inputs, [tokens], [tokens], None, keeping)[0]
        prompt_tokens = len(batch.tokens[0])
    reading.metadata["prompt_tokens"] = prompt_tokens
    return reading


def cache_fits(scope: Scope) -> bool:
    """T5 with a decoder deeper than its encoder is given a cache of the encoder's depth."""
    sizes = scope.model.config.get_text_config(decoder=True)
    deep = getattr(sizes, "num_hidden_layers", None)
    return deep is None or deep >= scope.layers.get("decoder", 0)


def _may_stop(module: Any, given: Any) -> None:
    """Between two tokens a stop may be taken."""
    safe_point()


def _see_nothing(call: Call) -> None:
    del call


# Tokens of text a model wrote itself, placed in that text.


def tokens_of_ids(tokenizer: Any, ids: list[int]) -> Tokens:
    """Each token's span is what it adds to the decoded text.

    Tokenising the decoded text again may cut it differently than the model did, so the ids stay
    and the text is grown one token at a time.
    """
    numbers = np.array(ids, dtype=np.int64)
    vocabulary = Vocabulary(tokenizer, numbers)
    classes = vocabulary.classes(numbers, np.zeros(1, dtype=np.int64))
    spans = np.full((len(ids), 2), -1, dtype=np.int32)
    words = np.full(len(ids), -1, dtype=np.int32)
    word_texts: list[str] = []
    text = ""
    for run in _runs(classes):
        own, of_text = _grown(tokenizer, [ids[place] for place in run])
        found = word_spans(of_text)
        spans[run] = own + len(text)
        words[run] = words_of_spans(own, found, len(word_texts))
        word_texts += [of_text[start:end] for start, end in found]
        text += of_text
    return Tokens(
        spellings=vocabulary.spelled(numbers),
        labels=vocabulary.labels(numbers),
        ids=numbers,
        classes=classes,
        segments=np.zeros(len(ids), dtype=np.int8),
        word_ids=words,
        spans=spans,
        texts=(text,),
        word_texts=tuple(word_texts),
    )


def _runs(classes: NDArray[np.int8]) -> list[list[int]]:
    """Positions of tokens between special ones; no word reaches across a special token."""
    runs: list[list[int]] = [[]]
    for place, kind in enumerate(classes):
        if kind >= TokenClass.PUNCTUATION:
            runs[-1].append(place)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _grown(tokenizer: Any, ids: list[int]) -> tuple[NDArray[np.int32], str]:
    """The text some tokens make, and the span each adds to it."""
    spans = np.zeros((len(ids), 2), dtype=np.int32)
    text = ""
    for place in range(len(ids)):
        grown = _decode(tokenizer, ids[: place + 1])
        start = min(len(text), max(len(grown) - 1, 0))
        while start < len(grown) - 1 and grown[start].isspace():
            start += 1
        spans[place] = start, len(grown)
        text = grown
    # a cut character may have been longer than what it became
    return np.minimum(spans, len(text)), text


def _decode(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, clean_up_tokenization_spaces=False))
