"""One interface for every result that gives numbers per head.

A survey, scored patterns, a probe, an ablation, a comparison and head importance all have `table`,
`measures`, `map`, `top`, `plot`, `save` and `load`, and a notebook display.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_number
from headscope.checked import checked_methods
from headscope.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

COLUMNS = ("kind", "layer", "head", "measure", "value", "error", "count")
SHOWN = 12  # rows of a table that a notebook shows


@checked_methods
class HeadResult:
    """Numbers per head under names; `table` holds one row per kind, layer, head and measure."""

    holds: ClassVar[tuple[type, ...]] = ()  # classes that a saved file may contain

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        checked_methods(cls)

    if TYPE_CHECKING:  # a field in some results, computed in others

        @property
        def table(self) -> pd.DataFrame:
            """Tidy: kind, layer, head, measure, value, error, count, then further columns."""
            ...

    @property
    def title(self) -> str:
        """The result's title over figures and in a notebook."""
        return type(self).__name__

    @property
    def measures(self) -> tuple[str, ...]:
        """The names that `map`, `top` and `plot` accept."""
        return tuple(self.table["measure"].unique())

    def map(self, name: str | None = None, kind: str | None = None) -> xr.DataArray:
        """One measure as layers × heads.

        Parameters
        ----------
        name
            The measure; the first of `measures` if left out.
        kind
            "encoder", "decoder" or "cross"; the first that was measured if left out.

        Returns
        -------
        xarray.DataArray
            Axes `layer` and `head`; NaN where the measure is undefined.
        """
        import xarray as xr

        rows = self.rows(name, kind)
        found = str(rows["kind"].iloc[0])
        every: Any = self.table[self.table["kind"] == found]
        values = head_array(rows, int(every["layer"].max()) + 1, int(every["head"].max()) + 1)
        return xr.DataArray(
            values,
            dims=("layer", "head"),
            coords={"layer": np.arange(values.shape[0]), "head": np.arange(values.shape[1])},
            name=str(rows["measure"].iloc[0]),
            attrs={"kind": found},
        )

    def top(self, name: str | None = None, n: int = 5, kind: str | None = None) -> pd.DataFrame:
        """The heads with the largest values, largest first.

        Parameters
        ----------
        name
            The measure; the first of `measures` if left out.
        n
            How many heads.
        kind
            "encoder", "decoder" or "cross"; the first that was measured if left out.

        Returns
        -------
        pandas.DataFrame
            Rows of `table`.
        """
        need_number(n, "n")
        return self.rows(name, kind).nlargest(n, "value").reset_index(drop=True)

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """Draw the map of one measure; the scale is centred on zero if values have both signs."""
        from headscope.figures import layer_head_map

        rows = self.rows(name, kind)
        values = self.map(name, kind).to_numpy()
        finite = values[np.isfinite(values)]
        signed = bool(finite.size and finite.min() < 0 < finite.max())
        return layer_head_map(values, self.title, str(rows["measure"].iloc[0]), diverging=signed)

    def to_latex(
        self, name: str | None = None, n: int = 10, kind: str | None = None, digits: int = 3
    ) -> str:
        """The heads of `top` as a booktabs table, the best in bold, intervals where there are any.

        Parameters
        ----------
        name
            The measure; the first of `measures` if left out.
        n
            How many heads.
        kind
            "encoder", "decoder" or "cross"; the first that was measured if left out.
        digits
            How many decimals.

        Returns
        -------
        str
            A tabular for `\\usepackage{booktabs}`.
        """
        from headscope.results.latex import latex

        return latex(self.top(name, n, kind), digits)

    def save(self, path: str | Path) -> None:
        """Write Parquet, which `load` opens completely, or .csv with the table alone.

        Parameters
        ----------
        path
            A file that ends in .parquet or .csv.
        """
        from headscope.results.storage import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Open what `save` wrote as Parquet; `hs.open` opens a file of any kind.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        The complete result.
        """
        from headscope.results.storage import load

        return load(cls, path)

    def rows(self, name: str | None = None, kind: str | None = None) -> pd.DataFrame:
        """The rows of one measure and one kind of attention, one per head."""
        if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadInput(f"A measure is given by its name, not as {name!r}; see `measures`.")
        name = name if name is not None else (self.measures or ("",))[0]
        found: Any = self.table[self.table["measure"] == name]
        if found.empty:
            there = ", ".join(self.measures) or "nothing"
            raise BadInput(f"There is no measure {name!r} here; there are {there}.")
        found = found[found["head"].notna()]
        chosen = kind or next(iter(found["kind"].dropna()), None)
        found = found[found["kind"] == chosen]
        if found.empty:
            raise BadInput(f"{name!r} was not measured for {chosen or 'any'} attention.")
        return found

    def __repr__(self) -> str:
        heads = len(self.table[["kind", "layer", "head"]].dropna().drop_duplicates())
        counted = _counted(len(self.measures), "measure")
        return f"<{type(self).__name__}: {self.title}; {counted} of {_counted(heads, 'head')}>"

    def _repr_html_(self) -> str:
        """A heading, the number of rows, and the first rows; pandas escapes text."""
        from html import escape

        table = self.table
        names = ", ".join(self.measures[:SHOWN]) + (", …" if len(self.measures) > SHOWN else "")
        about = f"{len(table):,} rows; measures: {names}"
        shown = table.head(SHOWN).to_html(index=False, float_format="{:.4g}".format)
        return f"<p><strong>{escape(self.title)}</strong><br>{escape(about)}</p>{shown}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def head_array(rows: pd.DataFrame, layers: int, heads: int) -> NDArray[np.float64]:
    """layers × heads of a frame with `layer`, `head` and `value`; nan where there is no row."""
    values = np.full((layers, heads), np.nan)
    values[rows["layer"].astype(int), rows["head"].astype(int)] = rows["value"]
    return values


def of_layers(frame: pd.DataFrame, numbers: Collection[int]) -> pd.DataFrame:
    """The rows of some layers; a hybrid model's layers that do not attend have no heads.

    Parameters
    ----------
    frame
        A table with the column `layer`.
    numbers
        The layers to keep.

    Returns
    -------
    pandas.DataFrame
        The rows with their layers renumbered from 0.

    Examples
    --------
    >>> import pandas as pd, headscope as hs
    >>> len(hs.results.of_layers(pd.DataFrame({"layer": [0, 1, 2]}), [0, 2]))
    2
    """
    found: Any = frame[frame["layer"].isin(list(numbers))]
    return found.reset_index(drop=True)


def tidy(frame: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    """A table whose first columns are those of every result; unknown values are NaN.

    Parameters
    ----------
    frame
        The table.
    **columns
        More columns: a value for every row, or one for all.

    Returns
    -------
    pandas.DataFrame
        The table in the order that every result has.

    Examples
    --------
    >>> import pandas as pd, headscope as hs
    >>> frame = pd.DataFrame({"layer": [0], "head": [1], "value": [0.5]})
    >>> found = hs.results.tidy(frame, measure="entropy")
    >>> list(found.columns[:3])
    ['kind', 'layer', 'head']
    """
    whole: Any = frame.assign(**columns)
    for missing in (name for name in COLUMNS if name not in whole):
        whole[missing] = np.nan
    whole = whole[[*COLUMNS, *(name for name in whole if name not in COLUMNS)]]
    return whole.reset_index(drop=True)
