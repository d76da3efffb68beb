"""Whether the parts of a reading fit together: a file may have been written by anybody."""

from __future__ import annotations

from headscope.reading.part import Part
from headscope.reading.weights.layer import LayerAttention
from headscope.text.tokens import Tokens

_PER_TOKEN = ("spellings", "labels", "ids", "classes", "segments", "word_ids", "spans")


def fault_of(part: Part) -> str | None:
    """What does not fit, in a few words; None where everything does."""
    for side, tokens in (("query", part.query), ("key", part.key)):
        if wrong := _of_tokens(tokens):
            return f"the {side} tokens have {wrong}"
    if len(set(part.numbers)) != len(part.numbers):
        return "a layer is there twice"
    for layer in part.layers:
        if wrong := _of_layer(layer, len(part.query), len(part.key)):
            return f"layer {layer.layer} has {wrong}"
    return None


def _of_tokens(tokens: Tokens) -> str | None:
    sizes = {name: len(getattr(tokens, name)) for name in _PER_TOKEN}
    if len(set(sizes.values())) != 1:
        return (
            f"{sizes['spellings']} spellings and {sizes['ids']} ids, and as many of all are needed"
        )
    inside = (
        tokens.word_ids < len(tokens.word_texts) if tokens.word_texts else tokens.word_ids >= -1
    )
    if not bool(inside.all()):
        return "a word that is not among the words"
    return None


def _of_layer(layer: LayerAttention, queries: int, keys: int) -> str | None:
    if layer.layer < 0:
        return "a negative number"
    shapes = {name: held.shape for name, held in layer.held.items()}
    wanted = {"weights": (queries, keys), "q": (queries,), "k": (keys,), "v": (keys,)}
    for name, sizes in wanted.items():
        if name in shapes and (len(shapes[name]) != 3 or shapes[name][1 : 1 + len(sizes)] != sizes):
            return f"{name} of shape {shapes[name]}, for {queries} queries and {keys} keys"
    heads = {shapes[name][0] for name in ("weights", "q") if name in shapes}
    if len(heads) > 1:
        return f"weights and q of {' and '.join(map(str, sorted(heads)))} heads"
    groups = {shapes[name][0] for name in ("k", "v") if name in shapes}
    if any(not group or head % group for head in heads for group in groups):
        return f"{heads.pop()} heads, which do not divide into the groups of its keys"
    return None
