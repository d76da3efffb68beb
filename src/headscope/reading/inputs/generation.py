"""Generation: a model continues a text, and the reading covers all of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headscope.arguments import need_count
from headscope.capture import Call
from headscope.errors import BadInput, TextTooLong
from headscope.interrupts import safe_point, stopped_safely
from headscope.models.evaluation import evaluating
from headscope.reading.collecting.keeping import Keeping, WhatToKeep
from headscope.reading.collecting.run import collect
from headscope.reading.reading import Reading
from headscope.text.of_ids import tokens_of_ids
from headscope.text.targets import language_token
from headscope.text.tokenise import Batch

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
    batch = scope.encode([prompt])
    whole = written_ids(scope, batch, max_new_tokens, options)
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


def end_tokens(scope: Scope) -> list[int]:
    """Tokens that end a text."""
    found = getattr(getattr(scope.model, "generation_config", None), "eos_token_id", None)
    ends: list[int] = [found] if isinstance(found, int) else list(found or ())
    own = getattr(scope.tokenizer, "eos_token_id", None)
    return ends or ([own] if own is not None else [])


def written_ids(scope: Scope, batch: Batch, max_new_tokens: int, options: dict[str, Any]) -> Tensor:
    """1 t: the prompt and what the model wrote; with two stacks, what the decoder wrote."""
    if not hasattr(scope.model, "generate") or not scope.model.can_generate():
        raise BadInput(f"{scope.name} does not generate text; load a model that does.")
    need_count(max_new_tokens, "max_new_tokens")
    given = 0 if scope.encoder_decoder else batch.inputs["input_ids"].shape[1]
    if scope.max_tokens is not None and given + max_new_tokens > scope.max_tokens:
        raise TextTooLong(
            f"The text has {given:,} tokens and {max_new_tokens:,} more were asked for; "
            f"{scope.name} reads at most {scope.max_tokens:,}: ask for fewer."
        )
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
    return getattr(written, "sequences", written)[:1]


def cache_fits(scope: Scope) -> bool:
    """T5 with a decoder deeper than its encoder is given a cache of the encoder's depth."""
    sizes = scope.model.config.get_text_config(decoder=True)
    deep = getattr(sizes, "num_hidden_layers", None)
    return deep is None or deep >= scope.layers.get("decoder", 0)


def _may_stop(module: Any, given: Any) -> None:
    """Allow a stop between two tokens."""
    safe_point()


def _see_nothing(call: Call) -> None:
    del call
