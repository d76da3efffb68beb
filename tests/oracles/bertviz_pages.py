"""BertViz's pages: the numbers that its HTML carries, read back out of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import torch

from tests.oracles.comparison import Comparison
from tests.oracles.subjects import PAIRS, minilm, tiny

TITLE = "BertViz, pages"
PACKAGES = ("bertviz", "IPython")


def compare() -> Iterator[Comparison]:
    from bertviz import head_view, model_view

    scopes = (("MiniLM", minilm()), ("random GPT-2", tiny("GPT-2")))
    for name, scope in scopes:
        if scope is None:
            continue
        reading = scope.read(*PAIRS[0]) if name == "MiniLM" else scope.read("the cat sat on a mat")
        batch = scope.encode([reading.texts]) if len(reading.texts) == 2 else scope.encode(
            [reading.texts[0]]
        )  # fmt: skip
        own = scope.model.config._attn_implementation
        scope.model.set_attn_implementation("eager")
        with torch.no_grad():
            attention = scope.model(**batch.inputs, output_attentions=True).attentions
        scope.model.set_attn_implementation(own)
        for view in (head_view, model_view):
            shown = view(attention, list(reading.tokens), html_action="return")
            theirs = parameters(shown.data)["attention"][0]["attn"]
            what = f"{view.__name__}, all heads"
            yield Comparison.of(name, what, reading.attention.values, theirs, 5e-6)


def parameters(page: str) -> Any:
    """The JSON that a page's script is given."""
    start = page.index('{"attention"')
    found, _ = json.JSONDecoder().raw_decode(page, start)
    return found
