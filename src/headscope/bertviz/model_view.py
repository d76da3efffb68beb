"""BertViz's model view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headscope.bertviz.html_action import perform
from headscope.bertviz.reading_of import reading_of
from headscope.surfaces import model_view as _model_view

if TYPE_CHECKING:
    from IPython.display import HTML


def model_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str = "dark",
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: str = "view",
) -> HTML | None:
    """All heads at once. `attention` may also be the model's whole output object."""
    reading = reading_of(
        attention, tokens, sentence_b_start, prettify_tokens, encoder_attention,
        decoder_attention, cross_attention, encoder_tokens, decoder_tokens, include_layers,
    )  # fmt: skip
    return perform(_model_view(reading, include_heads, theme=display_mode), html_action)
