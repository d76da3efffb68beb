"""A decomposed score: what each pair of writers added to one attention score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_number
from headscope.circuits.scores.writers import Removal, Writer
from headscope.errors import BadInput
from headscope.results import HeadResult, tidy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SIDES = ("query", "key")
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Score(HeadResult):
    """One attention score as a sum over writers of the query × writers of the key."""

    model: str
    kind: str
    layer: int
    head: int
    query: int
    key: int
    relative_to: int | str | None
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    value: float  # before any soft-cap; with `relative_to`, the difference
    weight: float
    positional_bias: float
    softcap: float | None
    query_writers: tuple[Writer, ...]
    key_writers: tuple[Writer, ...]
    parts: Floats  # query's writers × key's writers
    verified: tuple[Removal, ...] = ()

    holds: ClassVar[tuple[type, ...]] = (Writer, Removal)

    def __repr__(self) -> str:
        return f"<Score {self.title}: {self.value:.3f}, weight {self.weight:.3f}>"

    @property
    def title(self) -> str:
        asked, found = self.query_tokens[self.query], self.key_tokens[self.key]
        against = self.relative_to
        than = ""
        if isinstance(against, int):
            than = f" rather than “{self.key_tokens[against]}” ({against})"
        elif against is not None:
            than = " rather than the mean key"
        return (
            f"head {self.layer}-{self.head}, “{asked}” ({self.query}) to "
            f"“{found}” ({self.key}){than}"
        )

    @property
    def table(self) -> pd.DataFrame:
        """Each writer's part of the score on either side; measures `query` and `key`."""
        sides = (self.parts.sum(1), self.parts.sum(0))
        return sides_table((self.query_writers, self.key_writers), sides)

    def rows(self, name: str | None = None, kind: str | None = None) -> pd.DataFrame:
        """The heads among the writers of one side."""
        return super().rows("key" if name is None else name, kind or self.kind)

    def top(self, name: str | None = None, n: int = 5, kind: str | None = None) -> pd.DataFrame:
        """The writers of one side with the largest parts, largest first by size."""
        return strongest(self.table, name, n)

    def shown(self, n: int = 10) -> tuple[list[int], list[int]]:
        """The writers of either side with the largest parts, in the model's order."""
        sides = (self.parts.sum(1), self.parts.sum(0))
        first, second = (sorted(np.argsort(-np.abs(one))[:n].tolist()) for one in sides)
        return first, second

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """The strongest writers of the query × those of the key, and the sum of all others."""
        from headscope.figures.of_circuits import writer_pairs

        query, key = self.shown()
        chosen = self.parts[np.ix_(query, key)]
        rest = self.value - self.positional_bias - chosen.sum()
        bias = f", positional bias {self.positional_bias:+.2f}" if self.positional_bias else ""
        return writer_pairs(
            chosen,
            [self.query_writers[at].name for at in query],
            [self.key_writers[at].name for at in key],
            (self.parts.sum(1)[query], self.parts.sum(0)[key]),
            title=f"Why {self.title}",
            caption=(
                f"{self.model} · score {self.value:+.2f}, weight {self.weight:.3f}{bias}\n"
                f"Pairs that are not shown add {rest:+.2f}. The norms' scale is held fixed."
            ),
        )

    def pairs(self, n: int = 10) -> pd.DataFrame:
        """The pairs of writers with the largest parts of the score."""
        import pandas as pd

        order = np.argsort(-np.abs(self.parts), axis=None)[:n]
        query, key = np.unravel_index(order, self.parts.shape)
        return pd.DataFrame(
            {
                "query": [self.query_writers[at].name for at in query],
                "key": [self.key_writers[at].name for at in key],
                "value": self.parts[query, key],
                "share": self.parts[query, key] / self.parts.sum(),
            }
        )


def sides_table(
    writers: tuple[tuple[Writer, ...], tuple[Writer, ...]], values: tuple[Floats, Floats]
) -> pd.DataFrame:
    """Tidy: each writer of the query (measure `query`) and of the key (`key`) with its part."""
    import pandas as pd

    rows: list[dict[str, Any]] = [
        {
            "kind": writer.kind, "layer": writer.layer, "head": writer.head, "measure": side,
            "value": float(value), "part": writer.part, "writer": writer.name,
        }
        for side, own, parts in zip(SIDES, writers, values, strict=True)
        for writer, value in zip(own, parts, strict=True)
    ]  # fmt: skip
    frame = pd.DataFrame(rows).astype({"layer": "Int64", "head": "Int64"})
    return tidy(frame, error=np.nan, count=1)


def strongest(table: pd.DataFrame, name: str | None, n: int) -> pd.DataFrame:
    """The writers of one side with the largest parts, largest first by size."""
    need_number(n, "n")
    side = "key" if name is None else name
    if side not in SIDES:
        raise BadInput(f"There is no measure {side!r} here; there are {', '.join(SIDES)}.")
    found: Any = table[table["measure"] == side]
    order = found["value"].abs().sort_values(ascending=False).index[:n]
    return found.loc[order].reset_index(drop=True)
