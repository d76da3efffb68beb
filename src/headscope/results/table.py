"""A table of heads opened from CSV: its numbers, without the rest of the result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import BadInput
from headscope.results.result import COLUMNS, HeadResult, tidy

if TYPE_CHECKING:
    import pandas as pd

HEAD = ("kind", "layer", "head")


@dataclass(frozen=True, eq=False, repr=False)
class HeadTable(HeadResult):
    """The table of any result; without a column `measure`, each column of numbers is one."""

    table: pd.DataFrame  # pyright: ignore[reportIncompatibleMethodOverride]
    name: str = ""

    @property
    def title(self) -> str:
        return self.name or "A table of heads"

    @classmethod
    def read_csv(cls, path: str | Path) -> HeadTable:
        """The table in a .csv file.

        Parameters
        ----------
        path
            A file that a result's `save`, or a command, wrote.

        Returns
        -------
        HeadTable
            The same numbers; the rest of the result is in its Parquet file alone.
        """
        import pandas as pd

        if not Path(path).is_file():
            raise BadInput(f"There is no file {path}; check the path.")
        try:
            frame: Any = pd.read_csv(path)
        except (ValueError, OSError) as error:
            raise BadInput(f"{path} cannot be read as CSV ({error}).") from error
        if not {"layer", "head"} <= set(frame.columns):
            raise BadInput(f"{path} is not a table of heads: it has no columns layer and head.")
        if "kind" not in frame:
            frame = frame.assign(kind="")
        return cls(_long(frame), Path(path).name)


def _long(frame: Any) -> pd.DataFrame:
    """A row per head and measure, from either layout."""
    if {"measure", "value"} <= set(frame.columns):
        return tidy(frame)
    numbers = [name for name in frame if name not in COLUMNS and _is_number(frame[name])]
    return tidy(frame.melt(list(HEAD), numbers, var_name="measure", value_name="value"))


def _is_number(column: Any) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_bool_dtype(column) and column.notna().any()
