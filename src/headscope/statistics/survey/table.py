"""A survey: every head's statistics over a corpus, as a table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.files import atomic_path
from headscope.measures import find
from headscope.results import HeadResult
from headscope.statistics.distances.clusters import Clusters, cluster
from headscope.statistics.survey.bootstrap import BootstrapAccumulator
from headscope.statistics.survey.tally import Tally

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ["kind", "layer", "head", "measure", "value", "error", "count"]
KEY = b"headscope"  # where a Parquet file's own metadata holds ours


@dataclass(frozen=True)
class HeadPairs:
    """Mean Jensen–Shannon divergence per row between all pairs of heads, in nats."""

    heads: tuple[tuple[int, int], ...]  # (layer, head)
    values: NDArray[np.float64]  # n n

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float64]:
        """The values, wherever numpy asks for an array."""
        return np.array(self.values, dtype=dtype, copy=copy)


@dataclass(frozen=True, eq=False)
class Survey(HeadResult):
    """The table of a survey, what it was made of, and the distances between its heads."""

    # kind, layer, head, measure, value, error, count [, low, high]
    table: pd.DataFrame  # pyright: ignore[reportIncompatibleMethodOverride]
    metadata: dict[str, Any] = field(default_factory=dict)
    pairs: dict[Kind, HeadPairs] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the whole corpus was read; a stopped run gives what it had."""
        return bool(self.metadata.get("complete", True))

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(self.table["measure"].unique())

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(self.table["kind"].unique())

    @property
    def title(self) -> str:
        return f"Survey of {self.metadata.get('model', 'a model')}"

    def plot(
        self,
        name: str | None = None,
        kind: str | None = None,
        form: Literal["map", "scatter"] = "map",
    ) -> Figure:
        """A statistic as a layers × heads map, or as the papers' dots above each layer."""
        from headscope.figures.of_heads.by_layer import scatter_by_layer
        from headscope.figures.of_heads.layer_head_map import layer_head_map

        values = self.map(name, kind)
        name = name or self.measures[0]
        known = find(name)
        label = f"{name} ({known.unit})" if known else name
        if form == "map":
            title = f"{name}, {self.metadata.get('model', '')}".rstrip(", ")
            return layer_head_map(values, title, label)
        if form != "scatter":
            raise BadInput(f"A statistic is drawn as a 'map' or a 'scatter', not as {form!r}.")
        reference = None
        if name.startswith("entropy") and "entropy_uniform" in self.statistics:
            reference = {"uniform attention": float(np.nanmean(self.map("entropy_uniform", kind)))}
        return scatter_by_layer(values, label, reference=reference)

    def distances(self, kind: Kind | None = None) -> HeadPairs:
        """How unlike any two heads attend, averaged over all rows of the corpus."""
        if not self.pairs:
            raise BadInput("No distances were measured; run the survey with distances=True.")
        found = kind or next(iter(self.pairs))
        if found not in self.pairs:
            raise BadInput(f"There are distances for {', '.join(self.pairs)}, not for {found}.")
        return self.pairs[found]

    def clusters(
        self, kind: Kind | None = None, *, n: int | None = None, seed: int = 0
    ) -> Clusters:
        """Heads in two dimensions and in `n` groups, by how alike they attend."""
        pairs = self.distances(kind)
        return cluster(pairs.heads, pairs.values, n=n, seed=seed)

    def save(self, path: str | Path) -> None:
        """Write the table as Parquet (any reader opens it), or as CSV without the metadata."""
        path = Path(path)
        if path.suffix not in (".parquet", ".csv"):
            raise BadInput(f"A survey is saved as .parquet or .csv, not as {path.suffix or path}.")
        with atomic_path(path) as temporary:
            if path.suffix == ".csv":
                self.table.to_csv(temporary, index=False)
            else:
                self._write(temporary)

    def _write(self, path: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.Table.from_pandas(self.table, preserve_index=False)
        pairs = {
            kind: {"heads": of_kind.heads, "values": of_kind.values.tolist()}
            for kind, of_kind in self.pairs.items()
        }
        ours = json.dumps({"metadata": self.metadata, "distances": pairs})
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: ours})
        pyarrow.parquet.write_table(table, path, compression="zstd")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A survey that was saved as Parquet."""
        import pyarrow
        import pyarrow.parquet

        if not Path(path).is_file():
            raise BadInput(f"There is no file {path}.")
        try:
            table = pyarrow.parquet.read_table(path)
        except (pyarrow.ArrowException, OSError) as error:
            raise BadInput(f"{path} is no survey: it is not a Parquet file.") from error
        ours = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
        # up to version 0.1 the column of names was called by another word
        table = table.rename_columns(
            ["measure" if name == "statistic" else name for name in table.column_names]
        )
        missing = set(COLUMNS) - set(table.column_names)
        if missing:
            raise BadInput(f"{path} is no survey: it has no column {', '.join(sorted(missing))}.")
        pairs: dict[Kind, HeadPairs] = {
            kind: HeadPairs(
                tuple((layer, head) for layer, head in of_kind["heads"]),
                np.array(of_kind["values"]),
            )
            for kind, of_kind in ours.get("distances", {}).items()
        }
        frame: Any = table.to_pandas()
        return cls(frame, ours.get("metadata", {}), pairs)


def from_tally(tally: Tally, metadata: dict[str, Any], level: float | None) -> Survey:
    """The table of what has been counted; heads for which nothing is defined are left out."""
    parts: dict[str, list[Any]] = {}  # by column: one table made at once, not of a hundred
    for (kind, name), part in tally.parts.items():
        value, error, count = part.result()
        there = np.flatnonzero(count > 0)
        heads = np.array(tally.heads[kind])[there]
        columns: dict[str, Any] = {
            "kind": [kind] * len(there),
            "layer": heads[:, 0],
            "head": heads[:, 1],
            "measure": [name] * len(there),
            "value": value[there],
            "error": error[there],
            "count": count[there],
        }
        if level is not None:
            low, high = np.full((2, len(value)), np.nan)
            if isinstance(part, BootstrapAccumulator):
                low, high = part.interval(level)
            columns["low"], columns["high"] = low[there], high[there]
        for column, values in columns.items():
            parts.setdefault(column, []).append(values)
    found = {
        column: [one for part in of for one in part]
        if isinstance(of[0], list)
        else np.concatenate(of)
        for column, of in parts.items()
    }
    table = pd.DataFrame(found) if found and len(found["kind"]) else pd.DataFrame(columns=COLUMNS)
    pairs: dict[Kind, HeadPairs] = {
        kind: HeadPairs(tally.heads[kind], distances.sums / max(distances.rows, 1))
        for kind, distances in tally.distances.items()
    }
    return Survey(table, metadata, pairs)
