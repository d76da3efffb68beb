"""Behaviours of heads: how many each has, and what each of them does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.arguments import need_count, need_number
from headscope.atlas.excerpt import DocumentTokens, excerpt
from headscope.errors import BadInput
from headscope.results import HeadResult, tidy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Behaviours(HeadResult):
    """Positions of heads in clusters, by what their queries and keys match.

    `found` has a row per head and behaviour, `points` one per head and position, `profiles` what
    is frequent in each behaviour, `positions` the texts about the positions.
    """

    model: str
    kind: str
    by: str  # products or vectors: what was clustered
    plane: str  # UMAP or PCA: how q and k came into one plane
    found: pd.DataFrame = field(repr=False)
    points: pd.DataFrame = field(repr=False)
    profiles: pd.DataFrame = field(repr=False)
    positions: pd.DataFrame = field(repr=False)

    @property
    def title(self) -> str:
        return f"Behaviours of heads of {self.model}, {len(self.positions):,} positions"

    @property
    def table(self) -> pd.DataFrame:
        """Measures: `behaviours`, how many a head has; `largest`, the share of its largest."""
        import pandas as pd

        shares: Any = self.found.groupby(["kind", "layer", "head"], sort=False)["share"]
        parts = [
            shares.agg(how).reset_index(name="value").assign(measure=name)
            for name, how in (("behaviours", "size"), ("largest", "max"))
        ]
        frame: Any = pd.concat(parts, ignore_index=True)
        frame["value"] = frame["value"].astype(float)
        return tidy(frame, error=np.nan, count=len(self.positions))

    @property
    def heads(self) -> tuple[tuple[int, int], ...]:
        """Layer and head, those with the most behaviours first."""
        rows: Any = self.top("behaviours", len(self.found))
        return tuple((int(row.layer), int(row.head)) for row in rows.itertuples())

    def of(self, layer: int, head: int) -> pd.DataFrame:
        """The behaviours of one head, the largest first.

        Parameters
        ----------
        layer, head
            The head, both counted from 0.

        Returns
        -------
        pandas.DataFrame
            Share of the positions, label with score and lift over uniform attention.
        """
        return self._rows_of(self.found, layer, head).reset_index(drop=True)

    def examples(self, layer: int, head: int, behaviour: int, n: int = 10) -> pd.DataFrame:
        """Examples of one behaviour, the strongest weights first.

        Parameters
        ----------
        layer, head
            The head, both counted from 0.
        behaviour
            Its number, from 0, the largest first.
        n
            How many examples.

        Returns
        -------
        pandas.DataFrame
            Document, query, key, weight and `text`, the query in [[ ]], the key in << >>.
        """
        need_number(behaviour, "behaviour")
        need_count(n, "n")
        points: Any = self._rows_of(self.points, layer, head)
        points = points[points["behaviour"] == behaviour]
        if points.empty:
            count = len(self.of(layer, head))
            raise BadInput(
                f"Head {layer}-{head} has no behaviour {behaviour}; it has {count}, from 0."
            )
        rows: Any = points.nlargest(n, "weight").merge(self.positions, on="position")
        texts = [self._text(row) for row in rows.itertuples()]
        columns = ["document", "query", "query_token", "key", "key_token", "weight"]
        return rows[columns].assign(text=texts).reset_index(drop=True)

    def _text(self, row: Any) -> str:
        """A position's text with the query marked, and the key of a head."""
        count = len(row.tokens)
        document = DocumentTokens(
            0, tuple(row.tokens), np.zeros(count, np.int8), np.asarray(row.continues, dtype=bool)
        )
        key = int(row.key) - int(row.start)
        inside = 0 <= key < count
        made = excerpt(document, int(row.query) - int(row.start), [key] if inside else [], count)
        return made if inside else f"<<{row.key_token}>> … {made}"

    def _rows_of(self, frame: pd.DataFrame, layer: int, head: int) -> pd.DataFrame:
        need_number(layer, "layer")
        need_number(head, "head")
        rows: Any = frame[(frame["layer"] == layer) & (frame["head"] == head)]
        if rows.empty:
            raise BadInput(f"Head {layer}-{head} was not clustered; .heads lists those that were.")
        return rows

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """The map of a measure; of a single head the plane of its queries and keys."""
        if name is not None or len(self.heads) > 1:
            return super().plot(name, kind)
        layer, head = max(self.heads)
        return self.plot_plane(layer, head)

    def plot_plane(self, layer: int, head: int) -> Figure:
        """A head's queries and strongest keys in one plane, coloured by behaviour."""
        from headscope.figures.plane_of_keys import plane_of_keys

        points: Any = self._rows_of(self.points, layer, head)
        names = [self._name(row) for row in self.of(layer, head).itertuples()]
        return plane_of_keys(
            points[["query_x", "query_y"]].to_numpy(),
            points[["key_x", "key_y"]].to_numpy(),
            points["behaviour"].to_numpy(),
            names,
            title=f"Head {layer}-{head} of {self.model}",
            axes=self.plane,
        )

    def _name(self, row: Any) -> str:
        """A behaviour in a line: its share, and its label or most frequent key."""
        share = f"{row.share:.0%}"
        if row.label:
            return f"{share} {row.label} (lift {row.lift:.1f})"
        keys: Any = self._rows_of(self.profiles, row.layer, row.head)
        keys = keys[(keys["behaviour"] == row.behaviour) & (keys["profile"] == "key_token")]
        return share if keys.empty else f"{share} to “{keys.iloc[0]['name']}”"
