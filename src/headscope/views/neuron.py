"""The neuron view: how one query's q meets every key's k, neuron by neuron, up to the softmax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.text.tokens import TokenClass, Tokens
from headscope.views.caption import caption, heading
from headscope.views.labels import Label, as_labels
from headscope.views.opening import chosen
from headscope.views.selection import token_line
from headscope.views.state import check_token, checked
from headscope.views.wire.container import ViewData
from headscope.views.wire.frame import Sending, frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "neuron"
OLD_NAMES = {"token": "query"}
SHOWS = "q, k, q×k, q·k, scaled score, bias, mask and softmax of one query, neuron by neuron"


def build(
    reading: Reading,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    *,
    kind: Kind | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """Where q and k cannot be read the part's `why_no_qk` says why, and the page shows it."""
    sending = sending or Sending()
    part = reading.part(kind)
    check_token(len(part.query), query, "query")
    layer, head = chosen(part, as_labels(sending.labels, part.kind), layer, head)
    state = {
        "kind": part.kind,
        "layer": layer,
        "head": head,
        "heads": [head],
        "query": middle_word(part.query) if query is None else query,
        **checked(options),
    }
    return frame(NAME, reading, state, replace(sending, neurons=True))


def middle_word(tokens: Tokens) -> int:
    """The token the view opens on: the middle one of the words."""
    words = np.flatnonzero(tokens.classes == TokenClass.WORD)
    return int(words[words.size // 2]) if words.size else 0


def draw(reading: Reading, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same picture on paper."""
    from headscope.figures.neuron_strips import BarColumn, neuron_strips

    part = reading.part(state["kind"])
    layer, head = part.layer(state["layer"]), state["head"]
    if layer.q is None or layer.k is None:
        raise BadInput(part.why_no_qk or "The reading kept no q and k; read the text with them.")
    query = state.get("query")
    query = middle_word(part.query) if query is None else query
    q, k = layer.q[head, query], layer.k[head * layer.k.shape[0] // layer.q.shape[0]]
    product = k @ q
    score = product * (1.0 if layer.scaling is None else layer.scaling)
    bars = [BarColumn("q·k", product), BarColumn("scaled", score)]
    if layer.softcap is not None:
        bars.append(BarColumn("capped", np.tanh(score / layer.softcap) * layer.softcap))
    if layer.bias is not None:
        bars.append(BarColumn("bias", layer.bias[head, query]))
    if layer.mask is not None and not layer.mask[query].all():
        bars = [
            replace(bar, values=np.where(layer.mask[query], bar.values, np.nan)) for bar in bars
        ]
    bars.append(BarColumn("softmax", part.head_weights(layer.layer, head)[query], signed=False))
    keys = token_line(part.key)
    return neuron_strips(
        q,
        k,
        token_line(part.query).labels[query],
        keys,
        bars,
        title=heading(part.kind, layer.layer, [head], part.heads, labels),
        caption=caption(reading),
        by_contribution=state.get("sort") == "contribution",
    )
