"""The model view: every head of every layer as a thumbnail, each a click from its head view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headscope.capture import Kind
from headscope.reading import Reading
from headscope.views.container import ViewData
from headscope.views.frame import Sending, frame
from headscope.views.labels import as_labels
from headscope.views.opening import opening_head
from headscope.views.state import check_heads, checked

NAME = "model"


def build(
    reading: Reading,
    *,
    heads: Sequence[int] | None = None,
    kind: Kind | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """All heads, or the columns named; the clearest head is the one in hand."""
    sending = sending or Sending()
    part = reading.part(kind)
    check_heads(part.heads, *(heads or ()))
    layer, head = opening_head(part, as_labels(sending.labels, part.kind))
    state = {
        "kind": part.kind,
        "layer": layer,
        "head": head,
        "heads": None if heads is None else list(heads),
        **checked(options),
    }
    return frame(NAME, reading, state, sending)
