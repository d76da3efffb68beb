"""From a table with a row per head to a map of layers × heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


def layers_by_heads(
    rows: pd.DataFrame,
    value: str = "value",
    *,
    layers: int | Sequence[int] | None = None,
    heads: int | None = None,
) -> NDArray[np.float64]:
    """layers × heads of a column, nan where there is no row.

    Rows have `layer`, `head` and the column. `layers` says how many layers there are (as many as
    the rows reach when left out) or which ones the map's rows stand for.
    """
    frame: Any = rows
    at = frame["layer"].to_numpy(dtype=np.int64)
    head = frame["head"].to_numpy(dtype=np.int64)
    if layers is None:
        count = int(at.max()) + 1
    elif isinstance(layers, int):
        count = layers
    else:
        place = {int(number): row for row, number in enumerate(layers)}
        count, at = len(place), np.array([place[int(number)] for number in at], dtype=np.int64)
    wide = int(head.max()) + 1 if heads is None else heads
    values = np.full((count, wide), np.nan)
    values[at, head] = frame[value].to_numpy(dtype=np.float64)
    return values
