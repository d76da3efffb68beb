"""Readings of attention that other software computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.capture.call import Kind
from headscope.errors import BadInput
from headscope.reading.part import Part
from headscope.reading.weights.layer import LayerAttention
from headscope.text.tokens import Tokens

ROUNDING = 1e-3  # below zero, of half precision
_EMPTY = (
    "The attention is empty: current transformers returns none unless the model was loaded with "
    "attn_implementation='eager' and called with output_attentions=True, and outputs[-1] may be "
    "an empty cross-attention; pass the whole output object, or use hs.load(model, tokenizer)."
)
_NO_QK = (
    "The attention was given without the q and k that made it; use scope.read(text) to see them."
)


def parts_from_attention(
    attention: Any,
    tokens: Sequence[str] | Tokens | None,
    *,
    sentence_b_start: int | None,
    encoder_attention: Any,
    decoder_attention: Any,
    cross_attention: Any,
    encoder_tokens: Sequence[str] | Tokens | None,
    decoder_tokens: Sequence[str] | Tokens | None,
    layers: Sequence[int] | None,
) -> dict[Kind, Part]:
    """The parts of a reading, from tensors, arrays or a model's output object."""
    if hasattr(attention, "keys") and not hasattr(attention, "dims"):  # a model's output object
        output = attention
        attention = output.get("attentions")
        encoder_attention = encoder_attention or output.get("encoder_attentions")
        decoder_attention = decoder_attention or output.get("decoder_attentions")
        cross_attention = cross_attention or output.get("cross_attentions")
        if attention is None and encoder_attention is None and decoder_attention is None:
            raise BadInput(_EMPTY)
        if encoder_attention is None and decoder_attention is None:
            cross_attention = None  # decoder-only models carry an empty one
    if attention is not None:
        _check_alone(
            encoder_attention=encoder_attention,
            decoder_attention=decoder_attention,
            cross_attention=cross_attention,
            encoder_tokens=encoder_tokens,
            decoder_tokens=decoder_tokens,
        )
        stack = _stack(attention, "attention")
        own = _tokens(_written(tokens, attention, stack), sentence_b_start, "tokens")
        kind: Kind = "decoder" if _is_causal(stack) else "encoder"
        return {kind: _part(kind, stack, own, own, layers)}
    if encoder_attention is None and decoder_attention is None and cross_attention is None:
        raise BadInput(
            "Give attention, or encoder_attention, decoder_attention or cross_attention."
        )
    parts: dict[Kind, Part] = {}
    if encoder_attention is not None:
        own = _tokens(encoder_tokens, sentence_b_start, "encoder_tokens")
        parts["encoder"] = _part(
            "encoder", _stack(encoder_attention, "encoder_attention"), own, own, layers
        )
    if decoder_attention is not None:
        stack = _stack(decoder_attention, "decoder_attention")
        decoder_tokens = _written(decoder_tokens, decoder_attention, stack)
        own = _tokens(decoder_tokens, None, "decoder_tokens")
        parts["decoder"] = _part("decoder", stack, own, own, layers)
    if cross_attention is not None:
        stack = _stack(cross_attention, "cross_attention")
        decoder_tokens = _written(decoder_tokens, cross_attention, stack)
        query = _tokens(decoder_tokens, None, "decoder_tokens")
        key = _tokens(encoder_tokens, sentence_b_start, "encoder_tokens")
        parts["cross"] = _part("cross", stack, query, key, layers)
    return parts


def part_from_qkv(
    q: Any, k: Any, v: Any, tokens: Sequence[str] | Tokens | None, *, causal: bool
) -> dict[Kind, Part]:
    """One layer from q, k and v: token × size, or head × token × size."""
    given = {name: one for name, one in (("q", q), ("k", k), ("v", v)) if one is not None}
    if not {"q", "k"} <= given.keys():
        raise BadInput("Give both q and k; v is optional.")
    made: dict[str, NDArray[np.float32]] = {}
    for name, one in given.items():
        own = as_array(one)
        made[name] = own[None] if own.ndim == 2 else own
        if made[name].ndim != 3:
            raise BadInput(
                f"{name} is token × size, or head × token × size; this one has {own.ndim} axes."
            )
    shapes = {name: one.shape for name, one in made.items()}
    if made["q"].shape != made["k"].shape or any(
        one[:2] != shapes["q"][:2] for one in shapes.values()
    ):
        said = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise BadInput(
            "q, k and v need the same number of heads and tokens, and q and k the same "
            f"size; these have {said}."
        )
    own = _tokens(tokens, None, "tokens")
    count = shapes["q"][1]
    if len(own) != count:
        raise BadInput(f"There are {len(own)} tokens, but q has {count} rows.")
    seen = np.tri(count, dtype=bool) if causal else np.ones((count, count), dtype=bool)
    scaling = shapes["q"][2] ** -0.5
    scores = np.where(seen, scaling * made["q"] @ made["k"].transpose(0, 2, 1), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    layer = LayerAttention(
        0,
        weights,
        made["q"],
        made["k"],
        made.get("v"),
        scaling=scaling,
        mask=seen if causal else None,
    )
    kind: Kind = "decoder" if causal else "encoder"
    return {kind: Part(kind=kind, query=own, key=own, layers=(layer,), causal=causal)}


def _check_alone(**others: Any) -> None:
    """Raise an error for arguments that would be ignored."""
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise BadInput(
            f"attention is for models of one stack and was given with {given[0]}; give either "
            "attention and tokens, or the attention and tokens of encoder and decoder."
        )


def _written(
    tokens: Sequence[str] | Tokens | None, attention: Any, stack: list[NDArray[np.float32]]
) -> Sequence[str] | Tokens | None:
    """The tokens a model wrote, without the last, which it never read."""
    if tokens is None or not is_stepwise(attention) or len(tokens) != stack[0].shape[1] + 1:
        return tokens
    return tokens.crop(len(tokens) - 1) if isinstance(tokens, Tokens) else tokens[:-1]


def _tokens(
    given: Sequence[str] | Tokens | None, sentence_b_start: int | None, name: str
) -> Tokens:
    if given is None:
        raise BadInput(f"Give {name}: one string for every row of the attention.")
    if isinstance(given, Tokens):
        return given
    named = [str(token) for token in given]
    if sentence_b_start is not None and not 0 <= sentence_b_start <= len(named):
        raise BadInput(
            f"sentence_b_start is {sentence_b_start}, but there are tokens 0 to {len(named) - 1}."
        )
    return Tokens.plain(named, sentence_b_start)


def _stack(attention: Any, name: str) -> list[NDArray[np.float32]]:
    """One h t s array per layer, from tensors, arrays, or sequences of either.

    An array of two axes is one head, one of three a layer's heads.
    """
    if getattr(attention, "ndim", 4) in (2, 3):
        alone = as_array(attention)
        attention = [alone if alone.ndim == 3 else alone[None]]
    if is_stepwise(attention):
        attention = whole_maps(attention, name)
    try:
        given = list(attention)
        if not given or any(layer is None for layer in given):
            raise BadInput(_EMPTY)
        layers = [as_array(layer) for layer in given]
    except BadInput:
        raise
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"{name} must be an array or a sequence of arrays, one per layer."
        ) from error
    for number, layer in enumerate(layers):
        if layer.ndim == 4:
            if layer.shape[0] != 1:
                raise BadInput(
                    f"{name} holds a batch of {layer.shape[0]} inputs; "
                    "give one input at a time, e.g. layer[:1]."
                )
            layers[number] = layer = layer[0]
        if layer.ndim != 3:
            raise BadInput(
                f"{name} must have the shape (layers, heads, queries, keys), with or without a "
                f"batch of 1, or be one head's (queries, keys); layer {number} has {layer.ndim} "
                "dimensions."
            )
        if layer.size and float(np.nanmin(layer)) < -ROUNDING:
            raise BadInput(
                f"{name} holds negative numbers in layer {number}, and attention weights are "
                f"never negative; give the weights after the softmax."
            )
    return layers


def _part(
    kind: Kind,
    stack: list[NDArray[np.float32]],
    query: Tokens,
    key: Tokens,
    layers: Sequence[int] | None,
) -> Part:
    numbers = list(range(len(stack))) if layers is None else list(layers)
    if len(numbers) == len(stack):
        chosen = list(zip(numbers, stack, strict=True))
    else:
        wrong = [number for number in numbers if not 0 <= number < len(stack)]
        if wrong:
            raise BadInput(f"There is no layer {wrong[0]}; the attention has {len(stack)} layers.")
        chosen = [(number, stack[number]) for number in numbers]
    for number, weights in chosen:
        if weights.shape[1:] != (len(query), len(key)):
            raise BadInput(
                f"Layer {number} of the {kind} attention is {weights.shape[1]} × "
                f"{weights.shape[2]}, but there are {len(query)} query and {len(key)} key tokens."
            )
    return Part(
        kind=kind,
        query=query,
        key=key,
        layers=tuple(LayerAttention(number, weights) for number, weights in chosen),
        causal=kind == "decoder",
        why_no_qk=_NO_QK,
    )


def _is_causal(stack: list[NDArray[np.float32]]) -> bool:
    first = stack[0]
    return first.shape[-1] > 1 and all(not np.triu(layer, 1).any() for layer in stack)


# What `model.generate(output_attentions=True)` returns: attention of every step, layer by layer.
#
# The first step reads the prompt, each later one a single new token that looks back at all before
# it; without a cache every step reads the whole text again.

Maps = NDArray[np.float32]  # b h t s


def is_stepwise(attention: Any) -> bool:
    """Whether there is a sequence of layers for every step."""
    if not isinstance(attention, tuple | list) or not attention:
        return False
    first = attention[0]
    return isinstance(first, tuple | list) and bool(first) and hasattr(first[0], "shape")


def whole_maps(steps: Any, name: str) -> list[Maps]:
    """One b h t s array per layer, the rows of all steps under each other."""
    layers = {len(step) for step in steps}
    if len(layers) != 1:
        raise BadInput(
            f"The steps of {name} differ in their number of layers ({sorted(layers)}); "
            "pass what generate returned, unchanged."
        )
    return [_joined([as_array(step[layer]) for step in steps]) for layer in range(layers.pop())]


def _joined(rows: list[Maps]) -> Maps:
    last = rows[-1]
    if len(rows) > 1 and last.shape[2] > 1:  # no cache: the last step reads everything
        return last
    keys = max(row.shape[3] for row in rows)
    filled = [np.pad(row, ((0, 0), (0, 0), (0, 0), (0, keys - row.shape[3]))) for row in rows]
    return np.concatenate(filled, axis=2)


def as_array(layer: Any) -> Maps:
    """A layer's weights from a tensor of any device and precision, or an array."""
    if hasattr(layer, "detach"):
        layer = layer.detach().to("cpu").float().numpy()
    return np.asarray(layer, dtype=np.float32)
