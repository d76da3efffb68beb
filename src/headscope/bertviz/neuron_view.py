"""BertViz's neuron view, for every model whose q and k can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headscope.bertviz.html_action import perform
from headscope.bertviz.util import get_attention as get_attention
from headscope.surfaces import neuron_view

if TYPE_CHECKING:
    from IPython.display import HTML


def show(
    model: Any,
    model_type: str,
    tokenizer: Any,
    sentence_a: str,
    sentence_b: str | None = None,
    display_mode: str = "dark",
    layer: int | None = None,
    head: int | None = None,
    html_action: str = "view",
) -> HTML | None:
    """`model_type` is ignored: it exists for BertViz's signature, and the model's type is known."""
    from headscope.reading import load

    reading = load(model, tokenizer).read(sentence_a, sentence_b)
    return perform(neuron_view(reading, layer, head, theme=display_mode), html_action)
