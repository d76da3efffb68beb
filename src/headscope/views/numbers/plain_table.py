"""Numbers per head that somebody else made: an array, arrays by name, or a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput

Columns = dict[str, NDArray[np.floating]]
UNNAMED = "value"


def plain_columns(source: Any) -> tuple[tuple[int, ...], Columns] | None:
    """Layer numbers, and every column as layers × heads; None for what is none of these."""
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
            places = [numbers.index(int(layer)) for layer in frame["layer"]]
            values[places, frame["head"].to_numpy(dtype=int)] = frame[name].to_numpy(dtype=float)
            columns[str(name)] = values
        return (numbers, columns) if columns else None
    if all(np.issubdtype(kind, np.number) for kind in frame.dtypes) and len(frame):
        return tuple(range(len(frame))), {UNNAMED: frame.to_numpy(dtype=float)}
    return None


def _of_arrays(columns: Columns) -> tuple[tuple[int, ...], Columns]:
    shapes = {values.shape for values in columns.values()}
    if len(shapes) != 1 or len(shape := shapes.pop()) != 2 or 0 in shape:
        raise BadInput("A head map of arrays needs them all of one shape: layers × heads.")
    return tuple(range(shape[0])), columns


def _array(values: Any) -> NDArray[np.floating]:
    if hasattr(values, "detach"):
        values = values.detach().to("cpu").float()
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput("A head map is made of numbers: layers × heads.") from error
