"""Numbers per head as a table: of one reading, or of a survey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.measures import every, find
from headscope.patterns.labels import why_not_scored
from headscope.reading import Part, Reading
from headscope.results.result import head_array
from headscope.statistics.of_media import media_values
from headscope.statistics.of_reading import reading_values
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
    raise BadInput("A head map needs a reading, a survey, or an array of layers × heads.")


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


def summary(part: Part) -> dict[str, NDArray[np.float64]]:
    """Each measure as layers × heads, patterns last, without those undefined for this reading."""
    values = {**reading_values(part), **media_values(part)}
    shown = [m for m in every().values() if m.yardstick_of is None and m.name in values]
    if why_not_scored(part):
        shown = [measure for measure in shown if measure.origin != "pattern"]
    shown.sort(key=lambda measure: measure.origin == "pattern")
    return {measure.name: values[measure.name] for measure in shown}


def describe_column(name: str, values: NDArray[np.floating]) -> dict[str, object]:
    """A page's description of a column of numbers."""
    finite = values[np.isfinite(values)]
    signed = bool(finite.size and finite.min() < 0 < finite.max())
    scale = "diverging" if signed else "sequential"
    measure = find(name)
    if measure is None:
        return {"name": name, "title": name.replace("_", " "), "scale": scale}
    column: dict[str, object] = {
        "name": name,
        "title": measure.title,
        "note": measure.sentence,
        "scale": scale,
    }
    if measure.unit != "share":
        column["unit"] = measure.unit
    if measure.is_share:
        column["range"] = [0.0, 1.0]
    return column


Columns = dict[str, NDArray[np.floating]]
UNNAMED = "value"


def plain_columns(source: Any) -> tuple[tuple[int, ...], Columns] | None:
    """Layer numbers, and every column as layers × heads; None for other types."""
    if isinstance(source, Mapping):
        return _of_arrays({str(name): _array(values) for name, values in source.items()})
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        return _of_frame(source)
    if hasattr(source, "__array__") or isinstance(source, list | tuple):
        return _of_arrays({str(getattr(source, "name", None) or UNNAMED): _array(source)})
    return None


def _of_frame(frame: Any) -> tuple[tuple[int, ...], Columns] | None:
    """A row for every head, or a row for every layer with a column for every head."""
    if {"layer", "head"} <= set(frame.columns):
        if "measure" in frame.columns:
            return None  # the tidy table of a survey
        numbers = tuple(sorted({int(layer) for layer in frame["layer"]}))
        heads = int(frame["head"].max()) + 1
        columns: Columns = {}
        for name in frame.columns:
            if name in ("layer", "head") or not np.issubdtype(frame[name].dtype, np.number):
                continue
            values = np.full((len(numbers), heads), np.nan)
            rows = [numbers.index(int(layer)) for layer in frame["layer"]]
            values[rows, frame["head"].to_numpy(dtype=int)] = frame[name].to_numpy(dtype=float)
            columns[str(name)] = values
        return (numbers, columns) if columns else None
    if all(np.issubdtype(kind, np.number) for kind in frame.dtypes) and len(frame):
        return tuple(range(len(frame))), {UNNAMED: frame.to_numpy(dtype=float)}
    return None


def _of_arrays(columns: Columns) -> tuple[tuple[int, ...], Columns]:
    shapes = {values.shape for values in columns.values()}
    if len(shapes) != 1 or len(shape := shapes.pop()) != 2 or 0 in shape:
        raise BadInput("The arrays of a head map must have the same shape: layers × heads.")
    return tuple(range(shape[0])), columns


def _array(values: Any) -> NDArray[np.floating]:
    if hasattr(values, "detach"):
        values = values.detach().to("cpu").float()
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput("A head map needs numbers: layers × heads.") from error
