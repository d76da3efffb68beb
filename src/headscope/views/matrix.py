"""The matrix view: one head's map as a heat map, or the difference of two readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_reading
from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.views.shared.caption import caption, heading
from headscope.views.shared.labels import Label, as_labels
from headscope.views.shared.opening import chosen
from headscope.views.shared.selection import select
from headscope.views.shared.state import checked
from headscope.views.shared.weighting import OPTION, drawn_caption, weighting_of
from headscope.views.wire.container import ViewData
from headscope.views.wire.frame import Sending, frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DESCRIBED = 8  # weights that a figure's description lists

NAME = "matrix"
SHOWS = "one head's map with tokens on both axes, or the difference of two readings"
OPTIONS = OPTION
MEANINGS = {"other": "A reading of equal shape: the view opens on the difference; none by default."}


def build(
    reading: Reading,
    layer: int | None = None,
    head: int | None = None,
    *,
    kind: Kind | None = None,
    other: Reading | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """With `other`, a reading of equal shape, the view opens on the difference reading − other."""
    sending = sending or Sending()
    part = reading.part(kind)
    if other is not None:
        check_comparable(reading, other)
    layer, head = chosen(part, as_labels(sending.labels, part.kind), layer, head)
    weighting_of(part, options)
    state = {
        "kind": part.kind,
        "layer": layer,
        "head": head,
        "heads": [head],
        "reading": "this" if other is None else "difference",
        **checked(options),
    }
    return frame(NAME, reading, state, sending, other)


def draw(
    reading: Reading,
    state: Mapping[str, Any],
    labels: Sequence[Label] = (),
    other: Reading | None = None,
) -> Figure:
    """The same picture on paper."""
    from headscope.figures.matrix import matrix
    from headscope.figures.style import describe
    from headscope.views.shared.on_media import with_crops

    chosen_reading = state.get("reading", "this")
    base = other if other is not None and chosen_reading == "other" else reading
    part = base.part(state["kind"])
    layer, head = state["layer"], state["head"]
    seen = select(part, layer, state, [head])
    weights = seen.weights[0]
    difference = other is not None and chosen_reading == "difference"
    text = drawn_caption(base, part, state)
    if other is not None and difference:
        theirs = state.get("other_head", (layer, head))
        against = select(other.part(state["kind"]), theirs[0], state, [theirs[1]])
        weights = weights - against.weights[0]
        text = f"{caption(reading)}\nminus {caption(other)}"
    square_root = state.get("scale") == "sqrt"
    figure = matrix(
        weights,
        with_crops(seen.query, part.query, base),
        with_crops(seen.key, part.key, base),
        title=heading(part.kind, layer, [head], part.heads, labels),
        caption=text,
        difference=difference,
        square_root=square_root,
        largest=0.0 if difference else state.get("largest", 0.0),
        pinned=(seen.query.pinned, seen.key.pinned),
    )
    order = _strongest(np.abs(weights).ravel())
    return describe(
        figure,
        view=NAME,
        kind=part.kind,
        layer=layer,
        head=head,
        reading=chosen_reading if other is not None else "this",
        scale="linear" if difference else state.get("scale", "linear"),
        rows=len(seen.query),
        columns=len(seen.key),
        query=None if seen.query.pinned is None else int(seen.query.starts[seen.query.pinned]),
        key=None if seen.key.pinned is None else int(seen.key.starts[seen.key.pinned]),
        largest=float(np.abs(weights).max()) or 1.0,
        strongest=[
            [int(seen.query.starts[i]), int(seen.key.starts[j]), float(weights[i, j])]
            for i, j in zip(*np.unravel_index(order, weights.shape), strict=True)
        ],
    )


def _strongest(sizes: NDArray[np.floating]) -> NDArray[np.intp]:
    """Indices of the largest, equal ones in order; only candidates are sorted."""
    least = (
        np.partition(sizes, -MOST_DESCRIBED)[-MOST_DESCRIBED]
        if sizes.size > MOST_DESCRIBED
        else 0.0
    )
    cells = np.flatnonzero(sizes >= least)
    return cells[np.argsort(-sizes[cells], kind="stable")][:MOST_DESCRIBED]


def check_comparable(reading: Reading, other: Reading) -> None:
    """Raise an error unless both readings have the same layers, heads and lengths."""
    need_reading(other)
    for kind, part in reading.parts.items():
        if kind not in other.parts:
            raise BadInput(f"The second reading has no {kind} attention to compare with.")
        theirs = other.parts[kind]
        ours = (part.numbers, part.heads, len(part.query), len(part.key))
        if ours != (theirs.numbers, theirs.heads, len(theirs.query), len(theirs.key)):
            raise BadInput(
                f"A difference needs two readings of equal shape; these have {ours[2]} and "
                f"{len(theirs.query)} tokens, {ours[1]} and {theirs.heads} heads, "
                f"{len(ours[0])} and {len(theirs.layers)} layers."
            )
