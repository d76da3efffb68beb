"""Every head as a point: the measures for the axes, the colour and the size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headscope.atlas.atlas import Atlas
from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.views.shared.labels import Label, Labels, as_labels
from headscope.views.shared.numbers import Table, table_of

Pairs = Sequence[tuple[int, int]]  # (layer, head)
# the first of these that was measured; readers can change them in the page
PREFERRED = {
    "x": ("entropy", "distance", "layer"),
    "y": ("confidence", "previous_word", "score", "head"),
    "colour": ("layer",),
}
MOST_DESCRIBED = 12  # heads whose coordinates a figure's description lists
EVEN = ""  # all points of one size
PANELS = ("heads", "clusters", "layers")  # one plane, that of likeness, or one for each layer
CLUSTERS = {"x": "likeness_x", "y": "likeness_y", "colour": "group"}


def plane_table(source: Any, kind: str | None) -> Table:
    """The measures, with layer, head and, for an atlas, the coordinates of likeness."""
    table = table_of(source, kind)
    shape = (len(table.layers), table.heads)
    # baselines of patterns ("previous_word:null") are evidence, not behaviour
    columns = {name: values for name, values in table.columns.items() if ":" not in name}
    columns["layer"] = np.broadcast_to(np.array(table.layers, float)[:, None], shape)
    columns["head"] = np.broadcast_to(np.arange(table.heads, dtype=float), shape)
    if hasattr(source, "frame") and source.has("groups"):
        rows: Any = source.frame("groups")
        rows = rows[rows["kind"] == table.kind]
        at = [table.layers.index(int(layer)) for layer in rows["layer"]], rows["head"].astype(int)
        for column, name in (("x", "likeness_x"), ("y", "likeness_y"), ("group", "group")):
            values = np.full(shape, np.nan)
            values[at] = rows[column]
            columns[name] = values
    found = source.behaviours if isinstance(source, Atlas) else None
    if found is not None and found.kind == table.kind:
        values = np.full(shape, np.nan)
        rows = found.table[found.table["measure"] == "behaviours"]
        at = [table.layers.index(int(layer)) for layer in rows["layer"]], rows["head"].astype(int)
        values[at] = rows["value"]
        columns["behaviours"] = values
    return replace(table, columns=columns)


def plane_state(table: Table, **asked: str | None) -> dict[str, str]:
    """Names of the measures for x, y, colour and size; missing ones are chosen."""
    state: dict[str, str] = {}
    for axis, name in asked.items():
        if name:
            state[axis] = _known(table, name, axis)
        elif axis == "size":
            state[axis] = EVEN
        else:
            found = (each for each in PREFERRED[axis] if each in table.columns)
            state[axis] = next(found)
    if not asked.get("y") and state["y"] == state["x"]:
        state["y"] = next(name for name in table.columns if name != state["x"])
    return state


def numbered(heads: Pairs, table: Table) -> list[int]:
    """Heads as the page numbers them: layer × heads per layer + head."""
    found: list[int] = []
    for pair in heads:
        if not isinstance(pair, tuple | list) or len(pair) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadInput(f"heads= lists (layer, head) pairs such as [(2, 3)], not {pair!r}.")
        layer, head = pair
        if layer not in table.layers or head not in range(table.heads):
            raise BadInput(
                f"Head {layer}-{head} was not measured; heads= takes layers {min(table.layers)} "
                f"to {max(table.layers)} and heads 0 to {table.heads - 1}."
            )
        found.append(int(layer) * table.heads + int(head))
    return found


def drawn_state(table: Table, state: Mapping[str, Any]) -> dict[str, str]:
    """Like `plane_state`, for a state on screen; clusters have the coordinates of likeness."""
    asked = {name: state.get(name) for name in ("x", "y", "colour", "size")}
    if drawn_panels(table, state) == "clusters":
        asked |= CLUSTERS
    return plane_state(table, **asked)


def drawn_panels(table: Table, state: Mapping[str, Any]) -> str:
    """The shown planes: the requested ones, or all heads in one if there are no clusters."""
    panels = str(state.get("panels") or PANELS[0])
    return PANELS[0] if panels == "clusters" and "group" not in table.columns else panels


def points_of(table: Table, on: Mapping[str, str]) -> list[list[float | None]]:
    """The coordinates of the first few heads, for a figure's description."""
    pairs = zip(*(np.ravel(table.columns[on[axis]])[:MOST_DESCRIBED] for axis in "xy"), strict=True)
    return [
        [round(float(each), 4) if np.isfinite(each) else None for each in pair] for pair in pairs
    ]


def _known(table: Table, name: str, axis: str) -> str:
    if name not in table.columns:
        raise BadInput(
            f"{axis}={name!r} was not measured; choose one of {', '.join(table.columns)}."
        )
    return name


def labels_in(source: Any, given: Labels | None, kind: str) -> tuple[Label, ...]:
    """The given labels, else those of patterns or an atlas, one per head."""
    if given is None and not isinstance(source, Reading):
        given = getattr(source, "labels", None)
    return tuple(label for label in as_labels(given, kind) if label.kind == kind)
