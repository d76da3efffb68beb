"""BertViz's helpers, as notebooks import them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headscope.errors import BadInput


def get_attention(
    model: Any,
    model_type: str,
    tokenizer: Any,
    sentence_a: str,
    sentence_b: str | None = None,
    include_queries_and_keys: bool = False,
) -> dict[str, dict[str, Any]]:
    """Attention as nested lists, layer by layer: `all`, and of a pair also `aa`, `bb`, `ab`, `ba`.

    `model_type` is ignored: it exists for BertViz's signature, and the model's type is known.
    """
    from headscope.reading import load

    reading = load(model, tokenizer).read(sentence_a, sentence_b, keep=("weights", "q", "k"))
    part = reading.part()
    if include_queries_and_keys and part.why_no_qk is not None:
        raise BadInput(part.why_no_qk)
    start = int((part.query.segments == 0).sum())
    sides = {"a": slice(0, start), "b": slice(start, None)}
    wanted = {"all": (slice(None), slice(None))}
    if sentence_b:
        wanted |= {a + b: (sides[a], sides[b]) for a, b in ("aa", "bb", "ab", "ba")}
    labels = list(part.query.labels)
    found: dict[str, dict[str, Any]] = {}
    for name, (query, key) in wanted.items():
        found[name] = {
            "attn": [part.weights(number)[:, query, key].tolist() for number in part.numbers],
            "left_text": labels[query],
            "right_text": labels[key],
        }
        if include_queries_and_keys:
            found[name]["queries"] = [_of(layer.q)[:, query].tolist() for layer in part.layers]
            found[name]["keys"] = [
                _repeated(_of(layer.k), _of(layer.q))[:, key].tolist() for layer in part.layers
            ]
    return found


def format_attention(
    attention: Sequence[Any],
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> Any:
    """(layers, heads, queries, keys) of one input, some layers and heads of it or all."""
    import torch

    chosen = list(attention) if layers is None else [attention[layer] for layer in layers]
    if any(one.dim() != 4 or one.shape[0] != 1 for one in chosen):
        raise BadInput("Every layer's attention has the shape (1, heads, queries, keys).")
    stack = torch.cat(tuple(chosen))
    return stack if heads is None else stack[:, list(heads)]


def num_layers(attention: Sequence[Any]) -> int:
    return len(attention)


def num_heads(attention: Sequence[Any]) -> int:
    return int(attention[0].shape[1])


def format_special_chars(tokens: Sequence[str]) -> list[str]:
    """Tokens without the letters by which vocabularies mark where words begin and end."""
    return [token.replace("Ġ", " ").replace("▁", " ").replace("</w>", "") for token in tokens]


def _of(array: Any) -> Any:
    assert array is not None  # kept above
    return array


def _repeated(k: Any, q: Any) -> Any:
    """Keys that a group of heads shares, once for each head."""
    return k.repeat(q.shape[0] // k.shape[0], axis=0)
