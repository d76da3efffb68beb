"""Numbers per head as a table: of one reading, or of a survey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.views.default_labels import scores_for
from headscope.views.summary import MEASURES, summary
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


def table_of(source: Any, kind: str | None = None, scores: pd.DataFrame | None = None) -> Table:
    """source: a reading (with its pattern scores, if they are at hand), a survey, or its table."""
    if isinstance(source, Reading):
        part = source.part(kind)  # pyright: ignore[reportArgumentType]
        table = Table(part.kind, part.numbers, summary(part))
        scores = scores_for(source) if scores is None else scores
        return table if scores is None else _with_patterns(table, scores)
    frame_of_survey = getattr(source, "table", source)
    if hasattr(frame_of_survey, "columns"):
        return _from_frame(frame_of_survey, kind)
    raise BadInput("A head map is made of a reading or a survey.")


def _from_frame(table: pd.DataFrame, kind: str | None) -> Table:
    """A survey's tidy table: one row per kind, layer, head and statistic."""
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
    columns: dict[str, NDArray[np.floating]] = {}
    for name, group in rows.groupby("measure", sort=False):
        values = np.full((len(layers), heads), np.nan, dtype=np.float32)
        places = [layers.index(int(layer)) for layer in group["layer"]]
        values[places, group["head"].astype(int)] = group["value"]
        columns[str(name)] = values
    return Table(chosen, layers, columns)


def _with_patterns(table: Table, scores: pd.DataFrame) -> Table:
    """The table with a column a pattern, after the columns it has."""
    columns = dict(table.columns)
    rows: Any = scores[scores["kind"] == table.kind]
    for name, group in rows.groupby("pattern", sort=False):
        values = np.full((len(table.layers), table.heads), np.nan, dtype=np.float32)
        places = [table.layers.index(int(layer)) for layer in group["layer"]]
        values[places, group["head"].astype(int)] = group["score"]
        columns[str(name)] = values
    return replace(table, columns=columns)


def describe_column(name: str, values: NDArray[np.floating]) -> dict[str, Any]:
    finite = values[np.isfinite(values)]
    signed = bool(finite.size and finite.min() < 0 < finite.max())
    column: dict[str, Any] = {
        "name": name,
        "title": name.replace("_", " "),
        "scale": "diverging" if signed else "sequential",
    }
    if name in MEASURES:
        column |= {"title": MEASURES[name].title, "note": MEASURES[name].note}
        if MEASURES[name].unit:
            column["unit"] = MEASURES[name].unit
        if MEASURES[name].share:
            column["range"] = [0.0, 1.0]
    return column
