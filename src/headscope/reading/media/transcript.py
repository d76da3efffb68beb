"""What the decoder of a speech model reads: the caller's text, or what the model hears."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from headscope.reading.scope import Scope

MOST_TOKENS = 200  # of a transcript; Whisper hears half a minute at a time


def transcript(
    scope: Scope, tokenizer: Any, text: str | None, inputs: Mapping[str, Tensor]
) -> Tensor:
    """1 × tokens, as the model was trained to see them: what begins a transcript, text, end."""
    if text is not None:
        return torch.tensor([tokenizer(text).input_ids], device=scope.device)
    if getattr(tokenizer, "prefix_tokens", None) is None:
        with torch.no_grad():
            return scope.model.generate(**inputs, max_new_tokens=MOST_TOKENS)
    return _heard(scope, tokenizer, inputs)


def _heard(scope: Scope, tokenizer: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    """Whisper's own way: its language is found first, unless the tokenizer names one.

    The ids come from the tokenizer: a generation configuration that was not saved with the model
    holds those of another vocabulary, and the model then goes on past its end.
    """
    before = _beginning(scope, tokenizer, inputs)
    settings = copy.deepcopy(scope.model.generation_config)
    settings.decoder_start_token_id = before[0]
    settings.eos_token_id = settings.pad_token_id = tokenizer.eos_token_id
    settings.begin_suppress_tokens = [
        tokenizer(" ", add_special_tokens=False).input_ids[0],
        tokenizer.eos_token_id,
    ]
    settings.max_new_tokens, settings.max_length = MOST_TOKENS, None
    with torch.no_grad():
        made = scope.model.generate(
            **inputs,
            generation_config=settings,
            decoder_input_ids=torch.tensor([before], device=scope.device),
        )
    words = [one for one in made[0].tolist() if one < tokenizer.eos_token_id]  # marks come after
    return torch.tensor([[*before, *words, tokenizer.eos_token_id]], device=scope.device)


def _beginning(scope: Scope, tokenizer: Any, inputs: Mapping[str, Tensor]) -> list[int]:
    own = [int(one) for one in tokenizer.prefix_tokens]
    several = getattr(scope.model.generation_config, "lang_to_id", None)
    if not several or getattr(tokenizer, "language", None):
        return own
    with torch.no_grad():
        found = scope.model.detect_language(input_features=inputs["input_features"])
    task = tokenizer.convert_tokens_to_ids(["<|transcribe|>", "<|notimestamps|>"])
    return [own[0], int(found[0]), *map(int, task)]
