"""The neuron view: how one query's q meets every key's k, neuron by neuron, up to the softmax."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from headscope.capture import Kind
from headscope.models.tokens import TokenClass, Tokens
from headscope.reading import Reading
from headscope.views.container import ViewData
from headscope.views.frame import Sending, frame
from headscope.views.labels import as_labels
from headscope.views.opening import chosen
from headscope.views.state import check_token, checked

NAME = "neuron"


def build(
    reading: Reading,
    *,
    layer: int | None = None,
    head: int | None = None,
    token: int | None = None,
    kind: Kind | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """Where q and k cannot be read the part's `why_no_qk` says why, and the page shows it."""
    sending = sending or Sending()
    part = reading.part(kind)
    check_token(len(part.query), token, "query")
    layer, head = chosen(part, as_labels(sending.labels, part.kind), layer, head)
    state = {
        "kind": part.kind,
        "layer": layer,
        "head": head,
        "heads": [head],
        "query": middle_word(part.query) if token is None else token,
        **checked(options),
    }
    return frame(NAME, reading, state, replace(sending, neurons=True))


def middle_word(tokens: Tokens) -> int:
    """The token the view opens on: the middle one of the words."""
    words = np.flatnonzero(tokens.classes == TokenClass.WORD)
    return int(words[words.size // 2]) if words.size else 0
