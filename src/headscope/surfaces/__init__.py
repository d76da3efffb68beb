"""Surfaces: where views appear. Each function makes a view that shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headscope.surfaces.view import View
from headscope.views import Sending
from headscope.views.default_labels import labels_for

if TYPE_CHECKING:
    from headscope.capture import Kind
    from headscope.reading import Reading
    from headscope.views.labels import Labels

__all__ = ["View", "head_map", "head_view", "matrix_view", "model_view", "neuron_view"]


def _sending(
    reading: Reading, theme: str, labels: Labels | None, neurons: bool | None = None
) -> Sending:
    """Labels given by the caller, else those found on this text; `labels=()` shows none."""
    return Sending(theme, labels_for(reading) if labels is None else labels, neurons)


def head_view(
    reading: Reading,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    *,
    kind: Kind | None = None,
    query: int | None = None,
    key: int | None = None,
    theme: str = "auto",
    labels: Labels | None = None,
    neurons: bool | None = None,
    **options: Any,
) -> View:
    """Tokens on two sides, a line for every weight, a colour for every head."""
    chosen = {"layer": layer, "heads": heads, "kind": kind, "query": query, "key": key}
    return View("head", reading, _sending(reading, theme, labels, neurons), {**chosen, **options})


def model_view(
    reading: Reading,
    heads: Sequence[int] | None = None,
    *,
    kind: Kind | None = None,
    theme: str = "auto",
    labels: Labels | None = None,
    neurons: bool | None = None,
    **options: Any,
) -> View:
    """Every head of every layer as a thumbnail; a click opens one."""
    chosen = {"heads": heads, "kind": kind}
    return View("model", reading, _sending(reading, theme, labels, neurons), {**chosen, **options})


def neuron_view(
    reading: Reading,
    layer: int | None = None,
    head: int | None = None,
    token: int | None = None,
    *,
    kind: Kind | None = None,
    theme: str = "auto",
    labels: Labels | None = None,
    **options: Any,
) -> View:
    """How one query's q meets every key's k, neuron by neuron, up to the softmax."""
    chosen = {"layer": layer, "head": head, "token": token, "kind": kind}
    return View("neuron", reading, _sending(reading, theme, labels), {**chosen, **options})


def matrix_view(
    reading: Reading,
    layer: int | None = None,
    head: int | None = None,
    *,
    other: Reading | None = None,
    kind: Kind | None = None,
    theme: str = "auto",
    labels: Labels | None = None,
    neurons: bool | None = None,
    **options: Any,
) -> View:
    """One head's map with tokens on both axes, or the difference of two readings."""
    chosen = {"layer": layer, "head": head, "kind": kind, "other": other}
    return View("matrix", reading, _sending(reading, theme, labels, neurons), {**chosen, **options})


def head_map(
    source: Any, column: str | None = None, *, theme: str = "auto", **options: Any
) -> View:
    """Layers × heads coloured by a number: of a survey's statistics, or of one reading."""
    return View("headmap", source, Sending(theme), {"column": column, **options})
