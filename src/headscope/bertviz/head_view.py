"""BertViz's head view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headscope.bertviz.html_action import perform
from headscope.bertviz.reading_of import reading_of
from headscope.surfaces import head_view as _head_view

if TYPE_CHECKING:
    from IPython.display import HTML


def head_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: str = "view",
) -> HTML | None:
    """Lines between tokens. `attention` may also be the model's whole output object.

    A layer without heads shows all its heads; neither opens on one clear head.
    """
    reading = reading_of(
        attention, tokens, sentence_b_start, prettify_tokens, encoder_attention,
        decoder_attention, cross_attention, encoder_tokens, decoder_tokens, include_layers,
    )  # fmt: skip
    if layer is not None and heads is None:
        heads = range(reading.part().heads)
    return perform(_head_view(reading, layer, heads), html_action)
