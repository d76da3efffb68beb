"""A reading in the terminal: what every token attends to most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headscope.views.shared.caption import heading
from headscope.views.shared.selection import select

if TYPE_CHECKING:
    from rich.table import Table

    from headscope.reading import Reading

STRONGEST = 3


def strongest(reading: Reading, state: Mapping[str, Any]) -> Table:
    """For each query of the selected head, the keys with most of its attention."""
    from rich.table import Table
    from rich.text import Text

    part = reading.part(state["kind"])
    layer, head = state.get("layer", part.numbers[0]), state.get("head", 0)
    seen = select(part, layer, state)
    weights = seen.weights[head]
    if seen.allowed is not None:
        weights = weights * seen.allowed
    title = heading(part.kind, layer, [head], part.heads)
    table = Table(title=Text(title), title_justify="left", box=None)
    for name in ("query", *(["key", "weight"] * STRONGEST)):
        table.add_column(name, justify="right" if name == "weight" else "left")
    for query, row in zip(seen.query.line.labels, weights, strict=True):
        cells: list[Text] = [Text(query)]
        for key in row.argsort()[::-1][:STRONGEST]:
            cells += [Text(seen.key.line.labels[key]), Text(f"{row[key]:.3f}")]
        table.add_row(*cells)
    return table
