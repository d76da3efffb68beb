"""The model writes a few tokens at a time; each step's predictions are stored.

A text being written has an unguessable id. It stops when its page leaves, and continues from the
tokens themselves: spelled out and tokenised again, they might differ from the model's choice.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from cachetools import LRUCache
from torch import Tensor

from headscope.errors import BadInput
from headscope.models.evaluation import evaluating
from headscope.reading.inputs.generation import cache_fits, end_tokens, tokens_of_ids
from headscope.reading.predict import likeliest
from headscope.surfaces.app.kept import Kept

if TYPE_CHECKING:
    from headscope.edits.live import Change
    from headscope.reading import Reading, Scope

CHOICES = 5  # predictions stored for each step
MOST_AT_ONCE = 64  # tokens written in one request
MOST_KEPT = 32  # texts


@dataclass
class Writing:
    """One text in the making."""

    model: str
    prompt: str
    off: tuple[Change, ...]
    ids: list[int]  # the decoder's, those of the prompt first
    prompt_tokens: int
    steps: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    done: bool = False

    @property
    def new(self) -> list[int]:
        return self.ids[self.prompt_tokens :]


def kept_writings() -> Kept[Writing]:
    return Kept(LRUCache(MOST_KEPT), "This text is no longer kept; let the model write it again.")


def can_write(scope: Scope) -> bool:
    return scope.tokenizer is not None and bool(
        getattr(scope.model, "can_generate", lambda: False)()
    )


def begin(scope: Scope, model: str, prompt: str, off: tuple[Change, ...]) -> Writing:
    if not can_write(scope):
        raise BadInput(f"{scope.name} does not write text; choose a model that does.")
    if not prompt.strip():
        raise BadInput("Type the beginning of a text for the model to continue.")
    ids = scope.encode([prompt]).tokens[0].ids.tolist()
    if scope.encoder_decoder:
        ids = [_start(scope)]
    end = getattr(scope.tokenizer, "eos_token_id", None)
    if len(ids) > 1 and ids[-1] == end and not scope.encoder_decoder:
        ids = ids[:-1]  # without its end token, or the text could not continue
    return Writing(model, prompt, off, ids, len(ids))


def go_on(scope: Scope, writing: Writing, count: int) -> None:
    """Write `count` more tokens, or fewer if the text or the model's context ends."""
    room = scope.max_tokens
    count = min(count, MOST_AT_ONCE, MOST_AT_ONCE if room is None else room - len(writing.ids))
    if writing.done or count < 1:
        writing.done = True
        return
    inputs, ends = _inputs(scope, writing), end_tokens(scope)
    with torch.no_grad(), evaluating(scope.model), contextlib.ExitStack() as stack:
        if scope.edits:
            stack.enter_context(scope.capture(lambda call: None, lazy=True))
        written = scope.model.generate(
            **inputs,
            max_new_tokens=count,
            do_sample=False,
            use_cache=cache_fits(scope),
            return_dict_in_generate=True,
            output_logits=True,
            pad_token_id=next(iter(ends), 0),
        )
    new = written.sequences[0, len(writing.ids) :].tolist()
    for logits in written.logits[: len(new)]:
        best = likeliest(scope, logits[0].float().softmax(-1), CHOICES)
        writing.steps.append([one._asdict() for one in best])
    writing.ids += new
    writing.done = bool(new) and new[-1] in ends


def _inputs(scope: Scope, writing: Writing) -> dict[str, Tensor]:
    ids = torch.tensor([writing.ids], device=scope.device)
    if not scope.encoder_decoder:
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    read = scope.encode([writing.prompt]).inputs
    known = {name: read[name] for name in ("input_ids", "attention_mask")}
    return {**known, "decoder_input_ids": ids}


def _start(scope: Scope) -> int:
    for holder in (scope.model.generation_config, scope.model.config):
        start = getattr(holder, "decoder_start_token_id", None)
        if start is not None:
            return int(start)
    raise BadInput(
        f"{scope.name} has no decoder_start_token_id, so it cannot generate text; set "
        "scope.model.config.decoder_start_token_id (in a model's folder: config.json)."
    )


def described(scope: Scope, name: str, writing: Writing) -> dict[str, Any]:
    """The page's data while the text grows."""
    tokens = tokens_of_ids(scope.tokenizer, writing.ids)
    first = writing.prompt_tokens
    return {
        "id": name,
        "prompt_tokens": first,
        "done": writing.done,
        "steps": [
            {"token": label, "choices": choices}
            for label, choices in zip(tokens.labels[first:], writing.steps, strict=True)
        ],
    }


def read_written(scope: Scope, writing: Writing) -> Reading:
    """Read the whole text, prompt and answer, with the tokens as the model wrote them."""
    reading = scope.read_inputs(_inputs(scope, writing))
    reading.metadata["prompt_tokens"] = writing.prompt_tokens
    return reading
