"""The result of `hs.find_heads`: every head's score, heads together, and examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.arguments import need_number
from headscope.checked import checked
from headscope.corpus.bad_data import Fault, Faults
from headscope.errors import BadInput
from headscope.files import write_json
from headscope.probes.result import ProbeResult
from headscope.results import HeadResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headscope.reading import Reading, Scope

FORMAT = "headscope heads 1"


@dataclass(frozen=True, eq=False)
class ExampleMap:
    """One document as the best head maps it, beside the truth."""

    where: str
    queries: list[str]
    keys: list[str]
    scores: NDArray[np.float64]  # q k
    right: NDArray[np.bool_]  # q k
    allowed: NDArray[np.bool_]  # q k
    sound: str = ""
    words: list[str] = field(default_factory=list[str])
    times: NDArray[np.float64] | None = None  # w 4: true start and end, found start and end


ERROR_RATE = 0.05  # the chance of any false discovery


@dataclass(frozen=True, eq=False, repr=False)
class FoundHeads(ProbeResult):
    """Every head's score at a role, in every direction, beside chance and position."""

    table: pd.DataFrame  # pyright: ignore[reportIncompatibleMethodOverride]
    together: pd.DataFrame  # method, k, heads, chosen, value, its interval, difference …
    examples: pd.DataFrame  # of the best head: where, text, other, query, chosen, right …
    maps: list[ExampleMap]  # a few documents with the best head's map
    role: str
    metric: str  # the metric that ranks heads
    lower: bool  # whether the smaller score is the better one
    documents: int
    cases: int
    baseline: float  # precision of always choosing the same offset
    offset: int  # which one
    model: str = ""

    holds: ClassVar[tuple[type, ...]] = (Faults, Fault, ExampleMap)

    @property
    def title(self) -> str:
        return f"Heads for {self.role}"

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures; first the one that ranks heads, in its best direction."""
        names = tuple(self.table["measure"].unique())
        own = [name for name in names if name.startswith(f"{self.metric} ")]
        rows: Any = self.table[self.table["measure"].isin(own)]
        if rows["value"].notna().any():
            at = rows["value"].idxmin() if self.lower else rows["value"].idxmax()
            best = str(rows.loc[at, "measure"])
            return (best, *(name for name in names if name != best))
        return names

    def rows(self, name: str | None = None, kind: str | None = None) -> pd.DataFrame:
        """The rows of a measure such as "precision both"; "precision" means its best direction."""
        name = name or self.measures[0]
        ways = [one for one in self.measures if one.startswith(f"{name} ")]
        if name in self.measures or not ways:
            return HeadResult.rows(self, name, kind)
        found: list[Any] = [HeadResult.rows(self, way, kind) for way in ways]
        if name == self.metric and self.lower:
            return min(found, key=lambda rows: float(rows["value"].min()))
        return max(found, key=lambda rows: float(rows["value"].max()))

    @checked
    def top(self, name: str | None = None, n: int = 5, kind: str | None = None) -> pd.DataFrame:
        """The best heads first: the smallest of errors, the largest of all else.

        Parameters
        ----------
        name
            The measure, such as "auc both", or "auc" in its best direction; what heads are ranked
            by if left out.
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
        rows = self.rows(name, kind)
        lower = self.lower and str(rows["measure"].iloc[0]).startswith(f"{self.metric} ")
        best = rows.nsmallest(n, "value") if lower else rows.nlargest(n, "value")
        return best.reset_index(drop=True)

    @property
    def found(self) -> pd.DataFrame:
        """Heads that beat shuffled labels, corrected over all heads and directions.

        They are compared by what heads are ranked by; by precision where that is time error.
        """
        rows: Any = self.table
        own = rows["measure"].str.startswith(f"{self.metric} ") & rows["p"].notna()
        if not own.any():
            own = rows["measure"].str.startswith("precision ")
        rows = rows[own & (rows["p_holm"] <= ERROR_RATE)]
        lower = self.lower and str(rows["measure"].min()).startswith(f"{self.metric} ")
        return rows.sort_values("value", ascending=lower).reset_index(drop=True)

    @checked
    def heads(self, method: str | None = None) -> list[tuple[int, int]]:
        """The heads of one row of `together`.

        Parameters
        ----------
        method
            Such as "greedy, 4"; the greedy list that scored best where it was chosen if left out.

        Returns
        -------
        list of (layer, head)
        """
        rows: Any = self.together
        if method is None:
            rows = rows[rows["method"].str.startswith(("best", "greedy"))]
            rows = rows.sort_values("chosen", ascending=self.lower, kind="stable")
        else:
            rows = rows[rows["method"] == method]
        if rows.empty:
            there = ", ".join(self.together["method"]) or "none: too few documents were kept"
            raise BadInput(f"No heads were chosen by {method!r}; there are {there}.")
        pairs = [one.split("-") for one in str(rows.iloc[0]["heads"]).split()]
        return [(int(layer), int(head)) for layer, head in pairs]

    @checked
    def to_json(self, path: str | Path, method: str | None = None) -> None:
        """Write the heads for other software: their scores, and cross heads in Whisper's format.

        Parameters
        ----------
        path
            A .json file. Its `alignment_heads` may be copied into a generation configuration.
        method
            The row of `together` whose heads are written; as in `heads`.
        """
        chosen = self.heads(method)
        rows: Any = self.rows()
        by_head = {(int(row["layer"]), int(row["head"])): row for row in rows.to_dict("records")}
        described: dict[str, Any] = {
            "format": FORMAT,
            "model": self.model,
            "role": self.role,
            "kind": self.kind,
            "measure": str(rows["measure"].iloc[0]),
            "documents": self.documents,
            "heads": [
                {"layer": layer, "head": head, "value": _number(by_head[layer, head]["value"])}
                for layer, head in chosen
            ],
        }
        if self.kind == "cross":
            described["alignment_heads"] = [list(one) for one in sorted(chosen)]
        write_json(described, path, indent=1)

    @checked
    def draw(self, number: int = 0) -> Figure:
        """Draw one of `maps`: the best head's scores beside the truth, in its field's usual form.

        Parameters
        ----------
        number
            Which of `maps`.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from headscope.roles.drawings import picture

        if not 0 <= number < len(self.maps):
            raise BadInput(f"There is no map {number}; there are {len(self.maps)}.")
        return picture(self, self.maps[number])

    @checked
    def read_example(self, scope: Scope, number: int = 0) -> Reading:
        """Read the document of one of `examples`, to open it in a view.

        Parameters
        ----------
        scope
            The model that was measured.
        number
            A row of `examples`.

        Returns
        -------
        Reading
            For `hs.head_view(reading, layer, head=…)` and the other views.
        """
        if not 0 <= number < len(self.examples):
            raise BadInput(f"There is no example {number}; there are {len(self.examples)}.")
        row: Any = self.examples.iloc[number]
        if row["sound"]:
            return scope.read(row["other"], audio=row["sound"])
        other = row["other"] or None
        if other is None or not scope.encoder_decoder:
            return scope.read(row["text"], other)
        return scope.read(row["text"], target=other)


def _number(value: float) -> float | None:
    return None if value != value else round(float(value), 6)
