"""The neuron view: one query's q and every key's k, neuron by neuron, up to the softmax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.reading import LayerAttention, Part, Reading
from headscope.reading.rotary import Rotary, neuron_groups
from headscope.reading.weights.layer import NOT_KEPT
from headscope.text.spelling import TokenClass
from headscope.text.tokens import Tokens
from headscope.views.shared.caption import caption, heading
from headscope.views.shared.labels import Label, as_labels
from headscope.views.shared.opening import chosen
from headscope.views.shared.selection import token_line
from headscope.views.shared.state import check_token, checked
from headscope.views.wire.container import ViewData
from headscope.views.wire.frame import Sending, frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DESCRIBED = 8  # neurons and keys that a figure's description lists

NAME = "neuron"
SHOWS = "q, k, q×k, q·k, scaled score, bias, mask and softmax of one query, neuron by neuron"
OPTIONS = {"shows": ("scores", "values")}
MEANINGS = {
    "query": "The token whose query is shown; the middle word by default.",
    "shows": (
        'How q and k make the weights, "scores" (the default), or what the weights take from the '
        '"values": v, α·v and the head\'s output. Values need a reading with '
        'keep=("q", "k", "v").'
    ),
}
NO_VALUES = 'v was not kept; read the text again with keep=("weights", "q", "k", "v").'


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
    """If q and k cannot be read, the page shows the part's `why_no_qk`."""
    sending = sending or Sending()
    part = reading.part(kind)
    check_token(len(part.query), query, "query")
    layer, head = chosen(part, as_labels(sending.labels, part.kind), layer, head)
    if options.get("shows") == "values" and "v" not in part.layer(layer).held:
        raise BadInput(NO_VALUES)
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
    """The opening token: the middle word's."""
    words = np.flatnonzero(tokens.classes == TokenClass.WORD)
    return int(words[words.size // 2]) if words.size else 0


def draw(reading: Reading, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same picture on paper."""
    from headscope.figures.neuron_strips import BarColumn, neuron_strips
    from headscope.figures.style import describe

    part = reading.part(state["kind"])
    layer, head = part.layer(state["layer"]), state["head"]
    own = layer.of_heads([head]) if layer.has_qk else layer  # of a long text all are gigabytes
    if own.q is None or own.k is None:
        raise BadInput(part.why_no_qk or NOT_KEPT)
    query = state.get("query")
    query = middle_word(part.query) if query is None else query
    if state.get("shows") == "values" and own.v is not None:  # else q·k, as on screen
        return _values(reading, part, own, own.v[0], query, state, labels)
    q, k = own.q[0, query], own.k[0]
    product = k @ q
    score = product * (1.0 if layer.scaling is None else layer.scaling)
    bars = [BarColumn("q·k", product), BarColumn("scaled", score)]
    if layer.softcap is not None:
        bars.append(BarColumn("capped", np.tanh(score / layer.softcap) * layer.softcap))
    if own.bias_held is not None:
        added = own.bias_held.rows(slice(None), slice(query, query + 1))[0, 0]
        bars.append(BarColumn("bias", added.numpy()))
    seen = _visible(layer, query, len(part.key))
    if not seen.all():
        bars = [replace(bar, values=np.where(seen, bar.values, np.nan)) for bar in bars]
    weights = layer.head_weights(slice(head, head + 1), slice(query, query + 1))[0, 0]
    bars.append(BarColumn("softmax", weights, signed=False))
    order, share = by_contribution(q, k, weights, seen, part.rotary)
    by_number = state.get("sort") != "contribution"
    figure = neuron_strips(
        q,
        k,
        token_line(part.query).labels[query],
        token_line(part.key),
        bars,
        title=heading(part.kind, layer.layer, [head], part.heads, labels),
        caption=caption(reading),
        order=None if by_number else order,
        share=None if by_number else share,
    )
    return describe(
        figure,
        view=NAME,
        kind=part.kind,
        layer=layer.layer,
        head=head,
        query=query,
        neurons=[int(each) for each in (range(q.size) if by_number else order)][:MOST_DESCRIBED],
        dot=[round(float(each), 4) for each in product[:MOST_DESCRIBED]],
        scaled=[round(float(each), 4) for each in score[:MOST_DESCRIBED]],
        weight=[round(float(each), 5) for each in weights[:MOST_DESCRIBED]],
    )


def _values(
    reading: Reading,
    part: Part,
    layer: LayerAttention,
    v: NDArray[np.floating],  # s d
    query: int,
    state: Mapping[str, Any],
    labels: Sequence[Label],
) -> Figure:
    """softmax → α·v → the head's output; with weightings, its part in the stream or the answer."""
    from headscope.figures.neuron_strips import BarColumn, neuron_strips
    from headscope.figures.style import describe

    head = state["head"]
    weights = layer.head_weights(slice(0, 1), slice(query, query + 1))[0, 0]
    moved = weights[:, None] * v
    size = np.linalg.norm(moved, axis=1)
    bars = [BarColumn("softmax", weights, signed=False), BarColumn("‖α·v‖", size)]
    for one in part.weightings.values():
        factor = one.factors[layer.layer][head]
        bars.append(BarColumn(one.title, weights * factor))
    output = moved.sum(0)
    figure = neuron_strips(
        output,
        v,
        token_line(part.query).labels[query],
        token_line(part.key),
        bars,
        title=heading(part.kind, layer.layer, [head], part.heads, labels),
        caption=caption(reading),
        product=moved,
        names=("output", "v", "α·v"),
    )
    return describe(
        figure,
        view=NAME,
        kind=part.kind,
        layer=layer.layer,
        head=head,
        query=query,
        output=[round(float(each), 4) for each in output[:MOST_DESCRIBED]],
        size=[round(float(each), 4) for each in size[:MOST_DESCRIBED]],
        weight=[round(float(each), 5) for each in weights[:MOST_DESCRIBED]],
    )


def by_contribution(
    q: NDArray[np.floating],  # d
    k: NDArray[np.floating],  # s d
    weights: NDArray[np.floating],  # s
    visible: NDArray[np.bool_],  # s
    rotary: Rotary | None,
) -> tuple[NDArray[np.intp], NDArray[np.floating]]:
    """Neurons that raise the attended keys most first, and the cumulative share.

    A neuron's contribution is its part in the attended keys' scores minus that in the average
    visible key's: Σ_j w_j q_n k_jn - mean_j q_n k_jn. Neurons that rotary positions rotate together
    stay together.
    """
    excess = weights / (weights.sum() or 1.0) - 1 / max(1, int(visible.sum()))
    each = (np.where(visible, excess, 0.0) @ k.astype(np.float64)) * q
    groups = neuron_groups(rotary, q.size)
    sums = np.array([each[list(group)].sum() for group in groups])
    first = np.argsort(-sums, kind="stable")
    lifted = np.maximum(0.0, sums[first])
    share = np.cumsum(lifted) / (lifted.sum() or 1.0)
    sizes = [len(groups[at]) for at in first]
    order = [neuron for at in first for neuron in groups[at]]
    return np.array(order, dtype=np.intp), np.repeat(share, sizes)


def _visible(layer: LayerAttention, query: int, keys: int) -> NDArray[np.bool_]:
    if layer.mask_held is None:
        return np.ones(keys, dtype=bool)
    return layer.mask_held.rows(slice(query, query + 1)).numpy()[0]
