"""The head map: layers × heads coloured by a measure of a reading or a survey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.views.shared.caption import caption
from headscope.views.shared.labels import Label, as_labels
from headscope.views.shared.numbers import Table, describe_column, table_of
from headscope.views.shared.opening import opening_head
from headscope.views.shared.state import checked
from headscope.views.wire.container import Buffers, ViewData, view_data
from headscope.views.wire.frame import Sending, frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "head_map"
SHOWS = "layers × heads coloured by a number: of a survey's statistics, or of one reading"
MEANINGS = {"source": "A reading, a survey, or its table."}


def build(
    source: Any,
    column: str | None = None,
    *,
    kind: str | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """source: a reading, a survey, or its table."""
    sending = sending or Sending()
    table = table_of(source, kind)
    if column is not None and column not in table.columns:
        raise BadInput(f"There is no column {column!r}; there are {', '.join(table.columns)}.")
    state = {"kind": table.kind, "column": column or _first(table), **checked(options)}
    if isinstance(source, Reading):
        part = source.part(table.kind)  # pyright: ignore[reportArgumentType]
        layer, head = opening_head(part, as_labels(sending.labels, part.kind))
        state |= {"layer": layer, "head": head, "heads": [head]}
        return frame(NAME, source, state, sending, table=table)
    buffers = Buffers()
    model = str(getattr(source, "model", ""))
    header: dict[str, Any] = {
        "view": NAME,
        "views": [NAME],
        "model": model,
        "caption": model,
        "theme": sending.theme,
        "state": {"view": NAME, **state},
        "parts": [],
        "table": table.header(buffers),
    }
    return view_data(header, buffers)


def _first(table: Table) -> str:
    return "entropy" if "entropy" in table.columns else next(iter(table.columns))


def draw(source: Any, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same map on paper."""
    from headscope.figures import layer_head_map
    from headscope.figures.style import describe

    table = table_of(source, state.get("kind"))
    name = state.get("column") or _first(table)
    values = table.columns[name]
    column: dict[str, Any] = describe_column(name, values)
    figure = layer_head_map(
        values,
        title=column["title"].capitalize(),
        label=column["title"] + (f", {column['unit']}" if "unit" in column else ""),
        diverging=column["scale"] == "diverging",
        layers=table.layers,
        limits=_limits(column, values),
    )
    describe(
        figure,
        view=NAME,
        kind=table.kind,
        column=name,
        range=list(_limits(column, values)),
        layers=list(table.layers),
        heads=table.heads,
        values=[round(float(each), 4) if np.isfinite(each) else None for each in values.flat],
    )
    if isinstance(source, Reading):
        from headscope.figures.style import caption as write
        from headscope.figures.style import drawing

        with drawing():
            write(figure, caption(source), y=-0.02, va="top")
    return figure


def _limits(column: Mapping[str, Any], values: NDArray[np.floating]) -> tuple[float, float]:
    """The ends of the colour scale, by the page's rule (web/src/views/head_map/grid.ts)."""
    if "range" in column:
        return tuple(column["range"])
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    if column["scale"] == "diverging":
        end = max(abs(low), abs(high)) or 1.0
        return -end, end
    return (0.0, high) if 0 <= low < 0.3 * high else (low, high)
