"""Numbers per head as a table: of one reading, or of a survey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.results.result import head_array
from headscope.views.numbers.plain_table import plain_columns
from headscope.views.numbers.summary import describe_column, summary
from headscope.views.wire.container import Buffers
from headscope.views.wire.packing import pack_numbers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Table:
    """Numbers per head: each column layers × heads."""

    kind: str
    layers: tuple[int, ...]
    columns: Mapping[str, NDArray[np.floating]]

    @property
    def heads(self) -> int:
        return next(iter(self.columns.values())).shape[1]

    def header(self, buffers: Buffers) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "layers": list(self.layers),
            "heads": self.heads,
            "columns": [
                describe_column(name, values) | buffers.add(f"h{at}", pack_numbers(values))
                for at, (name, values) in enumerate(self.columns.items())
            ],
        }


def table_of(source: Any, kind: str | None = None) -> Table:
    """source: a reading, a survey or its table, or numbers of your own (layers × heads)."""
    if isinstance(source, Reading):
        part = source.part(kind)  # pyright: ignore[reportArgumentType]
        return Table(part.kind, part.numbers, summary(part))
    if (plain := plain_columns(source)) is not None:
        return Table(kind or "encoder", *plain)
    frame_of_survey = getattr(source, "table", source)
    if hasattr(frame_of_survey, "columns"):
        return _from_frame(frame_of_survey, kind)
    raise BadInput("A head map is made of a reading, a survey, or an array of layers × heads.")


def _from_frame(table: pd.DataFrame, kind: str | None) -> Table:
    """A survey's tidy table: one row per kind, layer, head and measure."""
    missing = {"layer", "head", "measure", "value"} - set(table.columns)
    if missing or table.empty:
        raise BadInput("The survey's table needs rows with layer, head, measure and value.")
    kinds = list(dict.fromkeys(table["kind"])) if "kind" in table else ["encoder"]
    chosen = kind or kinds[0]
    rows: Any = table[table["kind"] == chosen] if "kind" in table else table
    if rows.empty:
        raise BadInput(f"The survey has no {chosen} attention; it has {', '.join(kinds)}.")
    layers = tuple(int(layer) for layer in sorted(rows["layer"].unique()))
    heads = int(rows["head"].max()) + 1
    columns = {
        str(name): head_array(group, layers[-1] + 1, heads)[list(layers)]
        for name, group in rows.groupby("measure", sort=False)
    }
    return Table(chosen, layers, columns)
