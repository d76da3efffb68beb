"""The opening head, chosen so that the first picture is informative."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.reading import LayerAttention, Part
from headscope.text.spelling import TokenClass
from headscope.views.shared.labels import Label, best
from headscope.views.shared.state import check_heads, check_layer, several
from headscope.views.wire.encoding import sample
from headscope.views.wire.part import check_seen

ROWS = 24  # queries per head: enough for a choice, not a measurement
_known: WeakKeyDictionary[LayerAttention, NDArray[np.floating]] = WeakKeyDictionary()


def opening_head(
    part: Part, labels: Sequence[Label] = (), layer: int | None = None
) -> tuple[int, int]:
    """(layer, head): the best labelled that is not a sink, else the sharpest that does not mainly
    attend to itself, special tokens or the first token."""
    check_seen(part)
    there = [
        label
        for label in labels
        if label.kind == part.kind and label.layer in part.numbers and layer in (None, label.layer)
        if not label.rests
    ]
    labelled = best(there)
    if labelled is not None:
        return labelled.layer, labelled.head
    looked_at = [one for one in part.layers if layer in (None, one.layer)]
    for one in looked_at:
        if one not in _known:  # a page needs it twice: for its opening, and for each part
            _known[one] = _dullness(part, one)
    dullness = [_known[one] for one in looked_at]
    least = min(range(len(looked_at)), key=lambda at: float(dullness[at].min()))
    return looked_at[least].layer, int(dullness[least].argmin())


def chosen_heads(
    part: Part, labels: Sequence[Label], layer: int | None, heads: Sequence[int] | int | None
) -> tuple[int, list[int]]:
    """The same for several heads of one layer."""
    check_layer(part, layer)
    heads = several(heads)
    check_heads(part.heads, *(heads or ()))
    if heads is None or layer is None:
        opening = opening_head(part, labels, layer)
        layer = opening[0] if layer is None else layer
        heads = [opening[1]] if heads is None else heads
    return layer, list(heads)


def chosen(
    part: Part, labels: Sequence[Label], layer: int | None, head: int | None
) -> tuple[int, int]:
    """The requested layer and head, completed by the opening head."""
    check_layer(part, layer)
    check_heads(part.heads, head)
    if layer is not None and head is not None:
        return layer, head
    open_layer, open_head = opening_head(part, labels, layer)
    return (open_layer if layer is None else layer), (open_head if head is None else head)


def _dullness(part: Part, layer: LayerAttention) -> NDArray[np.floating]:
    """Per head: entropy in nats, with a penalty if most mass goes to trivial keys."""
    rows, sampled = _sampled(part, layer)
    trivial = np.zeros(sampled.shape[1:], dtype=bool)  # r s
    trivial |= ~part.key.content[None, :]
    trivial[:, 0] = True
    if part.kind != "cross":
        trivial |= rows[:, None] == np.arange(sampled.shape[2])[None, :]
    weights = torch.from_numpy(sampled)  # torch's logarithm uses all threads, for long texts
    entropy = -(weights * weights.clamp_min(1e-12).log()).sum(-1).mean(-1)  # h
    mass = (weights * torch.from_numpy(trivial)).sum(-1).mean(-1)  # h
    return entropy.numpy() + np.where(mass.numpy() > 0.5, 100.0, 0.0)


def _sampled(part: Part, layer: LayerAttention) -> tuple[NDArray[np.intp], NDArray[np.floating]]:
    rows = sample(len(part.query), ROWS)
    worth = rows[part.query.classes[rows] == TokenClass.WORD]  # special queries are all dull
    rows = worth if worth.size else rows
    return rows, layer.head_weights(slice(None), rows)
