"""Parts of a head's scores averaged over a corpus, with intervals over documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.circuits.scores.result import strongest
from headscope.circuits.scores.writers import Side, Writer
from headscope.results import HeadResult, tidy
from headscope.tasks.significance import Differences

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ScoreParts(HeadResult):
    """What each writer adds to the score of a query's strongest key, relative to the mean key."""

    model: str
    kind: str
    layer: int
    head: int
    pattern: str | None
    documents: int
    queries: int
    sides: tuple[Side, ...]
    writers: tuple[Writer, ...]
    parts: Differences = field(repr=False)  # a mean per side and writer, with its interval

    holds: ClassVar[tuple[type, ...]] = (Writer, Differences)

    @property
    def title(self) -> str:
        what = "strongest keys" if self.pattern is None else f"targets of {self.pattern}"
        head = f"{self.layer}-{self.head}"
        return f"Who writes what head {head} matches: {what}, {self.queries:,} queries"

    @property
    def table(self) -> pd.DataFrame:
        """Each writer's mean part by side (measures `query`, `key`), its interval and share."""
        import pandas as pd

        found = self.parts
        sides = np.array(self.sides)
        whole = {side: found.difference[sides == side].sum() for side in ("query", "key")}
        frame: Any = pd.DataFrame(
            {
                "kind": [one.kind for one in self.writers],
                "layer": pd.array([one.layer for one in self.writers], dtype="Int64"),
                "head": pd.array([one.head for one in self.writers], dtype="Int64"),
                "measure": list(self.sides),
                "value": found.difference,
                "error": found.error,
                "low": found.low,
                "high": found.high,
                "share": [
                    value / whole[side] if whole[side] else np.nan
                    for value, side in zip(found.difference, self.sides, strict=True)
                ],
                "part": [one.part for one in self.writers],
                "writer": [one.name for one in self.writers],
            }
        )
        return tidy(frame, count=self.documents)

    def rows(self, name: str | None = None, kind: str | None = None) -> pd.DataFrame:
        """The heads among the writers of one side."""
        return super().rows("key" if name is None else name, kind or self.kind)

    def top(self, name: str | None = None, n: int = 5, kind: str | None = None) -> pd.DataFrame:
        """The writers of one side with the largest parts, largest first by size."""
        return strongest(self.table, name, n)
