"""Warnings about a reading, by quick checks.

Each is one sentence. Warnings about the model and the text are stored with the reading; its numbers
are checked on request.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.errors import HeadscopeError
from headscope.models.limits import trained_length
from headscope.models.loading_report import untrained_weights
from headscope.reading.describe import trial_inputs
from headscope.reading.weights.held import InMemory

if TYPE_CHECKING:
    from headscope.reading.part import Part
    from headscope.reading.reading import Reading
    from headscope.reading.scope import Scope
    from headscope.text.tokens import Tokens

NOTED = "warnings"  # their key in a reading's metadata
_TOLERANCE = 2e-2  # rounding of a row of a thousand weights in half precision
_MOST = 0.5  # unknown tokens
TILES = 3  # a few tokens would fit into a window, or all be chosen
PADDED = 12  # tokens of padding in a trial


def model_warnings(scope: Scope) -> list[str]:
    """Warnings about a model before it reads anything."""
    missing = untrained_weights(scope.model)
    found = _path_warnings(scope)
    if not missing:
        return found
    names = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
    return [
        *found,
        f"Some weights after the last layer were in no file ({names}): the attention is the "
        "model's own, but its output layer was not trained.",
    ]


def _path_warnings(scope: Scope) -> list[str]:
    """Falcon with ALiBi: transformers' two implementations compute different results."""
    if "description" not in scope.shared or scope.description.read_as_run:
        return []
    return [
        f"The eager code of {type(scope.model).__name__}, whose weights are shown, computes "
        "otherwise than the code it runs; load it with attn_implementation='eager' so that it runs "
        "what is shown."
    ]


def padding_shows(scope: Scope, longest: int | None) -> bool:
    """Whether a text's attention can change when padding up to `longest` tokens follows it.

    The convolutions of ConvBERT and the landmarks of Nyströmformer reach into padding, which is
    tried once. What a choice of keys does in long texts cannot be tried: there, ties decide.
    """
    chosen = _chosen_keys(scope)
    if chosen is not None:
        return longest is None or longest > chosen
    if "padding" not in scope.shared:
        scope.shared["padding"] = _padding_shows(dataclasses.replace(scope, edits=()))
    return scope.shared["padding"]


def _chosen_keys(scope: Scope) -> int | None:
    """How many keys an index chooses for each query (DeepSeek-V3.2, A.X K2), or None."""
    configuration = scope.model.config
    text = getattr(configuration, "text_config", None) or configuration
    return getattr(text, "index_topk", None)


def _padding_shows(scope: Scope) -> bool:
    trial = trial_inputs(scope.model)
    if "input_ids" not in trial or not scope.accepts("attention_mask"):
        return False
    pad = getattr(scope.tokenizer, "pad_token_id", None) or 0
    ids = trial["input_ids"].repeat(1, TILES)
    empty = torch.full((1, PADDED), pad, device=ids.device)
    short = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    longer = {"input_ids": torch.cat([ids, empty], 1)}
    longer["attention_mask"] = torch.cat([torch.ones_like(ids), torch.zeros_like(empty)], 1)
    try:
        alone, padded = (_maps(scope, {**trial, **some}) for some in (short, longer))
    except HeadscopeError:  # it needs special inputs, which are unknown here
        return False
    # few bits round each text by its own largest numbers, with or without padding: attention
    # changes by up to some hundredths, within the half-precision tolerance of other trials
    least = 5e-2 if getattr(scope.model, "is_quantized", False) else 1e-3
    for at, one in alone.items():
        one = one[..., : ids.shape[1], : ids.shape[1]]  # a token that the model appends moves
        other = padded[at][..., : one.shape[-2], : one.shape[-1]]
        if other.shape == one.shape and float((one - other).abs().max()) > least:
            return True
    return False


def _maps(scope: Scope, inputs: Mapping[str, Tensor]) -> dict[tuple[str, int], Tensor]:
    found: dict[tuple[str, int], Tensor] = {}

    def keep(call: Call) -> None:
        found[call.kind, call.layer] = call.weights.float()

    scope.forward(inputs, keep)
    return found


def padding_warning(scope: Scope) -> str:
    name, chosen = type(scope.model).__name__, _chosen_keys(scope)
    if chosen is not None:
        return (
            f"{name} chooses {chosen:,} keys for each query, and padding can decide between keys "
            "of equal score; read texts of one length together, or one by one."
        )
    return (
        f"{name} lets padding reach into the texts, so what it attends to "
        "depends on the longest text of a batch; read texts of one length together, or one by one."
    )


def text_warnings(scope: Scope, tokens: Tokens, inputs: Mapping[str, Tensor]) -> list[str]:
    """Warnings about a model and one text it has read."""
    found = model_warnings(scope)
    if scope.encoder_decoder and "encoder" not in scope.kinds:  # LongT5 and Pegasus-X
        found.append(
            f"The encoder of {scope.name} attends in a way that is not read (block by block); only "
            "its decoder and what that sees of the encoder are here."
        )
    unknown = getattr(scope.tokenizer, "unk_token_id", None)
    words = tokens.ids[tokens.content]
    if unknown is not None and len(words) and (words == unknown).mean() > _MOST:
        found.append(
            f"{int((words == unknown).sum())} of {len(words)} tokens are unknown to the tokenizer; "
            "the text is in another language than the model's, or the tokenizer is another model's."
        )
    trained = trained_length(scope.model)
    if trained is not None and len(tokens) > trained:
        found.append(
            f"The text has {len(tokens):,} tokens and the model was trained on at most "
            f"{trained:,}; attention beyond them is guesswork."
        )
    return found + _type_warnings(scope, tokens, inputs)


def note_warnings(
    scope: Scope,
    reading: Reading,
    tokens: Tokens,
    inputs: Mapping[str, Tensor],
    more: Sequence[str] = (),
) -> None:
    """Store with a reading the warnings about its model and text."""
    found = [*text_warnings(scope, tokens, inputs), *more]
    if found:
        reading.metadata[NOTED] = found


def number_warnings(reading: Reading) -> list[str]:
    """Warnings about the numbers: rows that are not distributions, and NaN."""
    return [warning for part in reading.parts.values() for warning in _of_numbers(part)]


def _type_warnings(scope: Scope, tokens: Tokens, inputs: Mapping[str, Tensor]) -> list[str]:
    given = "token_type_ids" in inputs
    if given and _adds_words_for_types(scope):
        return [
            f"The tokenizer gives token types, which {type(scope.model).__name__} adds to the text "
            "as if they were words; take 'token_type_ids' out of tokenizer.model_input_names."
        ]
    if given and scope.knows_one_type and scope.accepts("token_type_ids"):
        if bool(inputs["token_type_ids"].any()):
            return [
                "The tokenizer tells first and second sentences apart by token types and the model "
                "knows only one, so both were read alike."
            ]
        return []
    types = getattr(scope.model.config, "type_vocab_size", 0) or 0
    if not given and types > 1 and scope.accepts("token_type_ids") and tokens.segments.any():
        return [
            "The model tells first and second sentences apart by token types and the tokenizer "
            "gives none, so both were read as the first."
        ]
    return []


def _adds_words_for_types(scope: Scope) -> bool:
    """GPT-2 looks token types up in its table of words, and was trained without any."""
    if not scope.accepts("token_type_ids"):
        return False
    names = (name for name, _ in scope.model.named_modules())
    return scope.causal and not any("token_type" in name or "segment" in name for name in names)


def _of_numbers(part: Part) -> list[str]:
    found: list[str] = []
    for layer in part.layers:
        where = f"Layer {layer.layer} of the {part.kind} attention"
        for name in ("weights", "q", "k"):
            held = layer.held.get(name)
            if isinstance(held, InMemory) and not bool(torch.isfinite(held.tensor()).all()):
                found.append(f"{where} holds numbers that are not finite; its model is damaged.")
                break
        else:
            weights = layer.held.get("weights")
            if isinstance(weights, InMemory) and "sinks" not in layer.held:
                found += _of_rows(where, weights.tensor())
    return found


def _of_rows(where: str, weights: Tensor) -> list[str]:
    if not weights.numel():
        return []
    sums = weights.float().sum(-1)
    least, most = float(sums.min()), float(sums.max())
    if abs(least - 1) <= _TOLERANCE and abs(most - 1) <= _TOLERANCE:
        return []
    return [
        f"{where} has rows that sum to {least:.3g} … {most:.3g} instead of 1; dropout, or a part "
        "of the keys, may be missing from what was given."
    ]
