"""Every head as a point, on paper: the planes of the scatter and the atlas."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.views.of_heads.plane import (
    drawn_panels,
    drawn_state,
    labels_in,
    plane_table,
    points_of,
)
from headscope.views.shared.labels import Label
from headscope.views.shared.numbers import Table, describe_column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headscope.figures.of_heads.head_scatter import Axis


def draw_plane(
    source: Any,
    state: Mapping[str, Any],
    *,
    title: str,
    labels: Sequence[Label] = (),
    in_hand: Collection[tuple[int, int]] = (),  # heads to mark like the chosen ones
) -> tuple[Figure, dict[str, Any]]:
    """Draw the plane, or one per layer, with a description; labelled and marked heads are named."""
    from headscope.figures.of_heads.head_scatter import (
        Points,
        measured_scatter,
        scatter_by_layer,
    )

    table = plane_table(source, state.get("kind"))
    on, panels = drawn_state(table, state), drawn_panels(table, state)
    chosen = {int(each) for each in state.get("chosen") or ()}
    named = {(each.layer, each.head) for each in labels_in(source, labels or None, table.kind)}
    every = [(layer, head) for layer in table.layers for head in range(table.heads)]
    points = Points(
        _axis(table, on["x"]),
        _axis(table, on["y"]),
        names=[f"{layer}-{head}" for layer, head in every],
        named=[at in named for at in every],
        marked=[at in in_hand or at[0] * table.heads + at[1] in chosen for at in every],
        colour_by=_axis(table, on["colour"]),
        size_by=_axis(table, on["size"]) if on["size"] else None,
    )
    if panels == "layers":
        figure = scatter_by_layer(points, [layer for layer, _ in every], title=title)
    else:
        figure = measured_scatter(points, title=title)
    shown = {"panels": panels, "chosen": sorted(chosen), **on, "points": points_of(table, on)}
    return figure, {"kind": table.kind, **shown}


def _axis(table: Table, name: str) -> Axis:
    from headscope.figures.of_heads.head_scatter import Axis

    column = describe_column(name, table.columns[name])
    unit = f", {column['unit']}" if "unit" in column else ""
    return Axis(f"{column['title']}{unit}", np.ravel(table.columns[name]))
