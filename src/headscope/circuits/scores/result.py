"""A decomposed score: what each pair of writers put into one attention score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_number
from headscope.errors import BadInput
from headscope.results import HeadResult, tidy

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("query", "key")


@dataclass(frozen=True)
class WriterOf:
    """One writer of a query or key: an embedding, a head, an MLP, or all biases together."""

    part: str
    kind: str | None = None
    layer: int | None = None
    head: int | None = None

    @property
    def name(self) -> str:
        if self.part == "head":
            return f"{'cross ' if self.kind == 'cross' else ''}{self.layer}-{self.head}"
        return self.part if self.layer is None else f"{self.part} {self.layer}"


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
    value: float  # before any soft-cap; of the difference where `relative_to` is given
    weight: float
    positional_bias: float
    softcap: float | None
    query_writers: tuple[WriterOf, ...]
    key_writers: tuple[WriterOf, ...]
    parts: NDArray[np.float64]  # query's writers × key's writers

    holds: ClassVar[tuple[type, ...]] = (WriterOf,)

    def __repr__(self) -> str:
        return f"<Score {self.title}: {self.value:.3f}, weight {self.weight:.3f}>"

    @property
    def title(self) -> str:
        asked, found = self.query_tokens[self.query], self.key_tokens[self.key]
        against = self.relative_to
        than = ""
        if isinstance(against, int):
            than = f" rather than {self.key_tokens[against]!r} ({against})"
        elif against is not None:
            than = " rather than the mean key"
        return (
            f"head {self.layer}-{self.head}, {asked!r} ({self.query}) to "
            f"{found!r} ({self.key}){than}"
        )

    @property
    def table(self) -> pd.DataFrame:
        """Each writer's part of the score on either side; measures `query` and `key`."""
        import pandas as pd

        sides = zip(
            SIDES, (self.query_writers, self.key_writers), (self.parts.sum(1), self.parts.sum(0)),
            strict=True,
        )  # fmt: skip
        rows: list[dict[str, Any]] = [
            {
                "kind": writer.kind, "layer": writer.layer, "head": writer.head, "measure": side,
                "value": float(value), "part": writer.part, "writer": writer.name,
            }
            for side, writers, values in sides
            for writer, value in zip(writers, values, strict=True)
        ]  # fmt: skip
        frame = pd.DataFrame(rows)
        return tidy(frame, error=np.nan, count=1)

    def rows(self, name: str | None = None, kind: str | None = None) -> pd.DataFrame:
        """The heads among the writers of one side."""
        return super().rows("key" if name is None else name, kind or self.kind)

    def top(self, name: str | None = None, n: int = 5, kind: str | None = None) -> pd.DataFrame:
        """The writers of one side with the largest parts, largest first by size."""
        need_number(n, "n")
        side = "key" if name is None else name
        if side not in SIDES:
            raise BadInput(f"There is no measure {side!r} here; there are {', '.join(SIDES)}.")
        found: Any = self.table[self.table["measure"] == side]
        order = found["value"].abs().sort_values(ascending=False).index[:n]
        return found.loc[order].reset_index(drop=True)

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
