"""All scores of one query of one head, by the query's writers and by the keys' writers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.circuits.scores.decompose import written, written_rows
from headscope.circuits.scores.head_pass import HeadPass
from headscope.circuits.scores.result import sides_table, strongest
from headscope.circuits.scores.row import Row
from headscope.circuits.scores.writers import Writer, WrittenRows
from headscope.errors import BadInput
from headscope.results import HeadResult

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope
    from headscope.text.tokens import Tokens

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class QueryScores(HeadResult):
    """The scores of one query with every key that it sees, by writers of either side.

    `table` explains where the attention goes: each part's mean under the attention weights, minus
    its mean over all keys. `of(key)` gives the parts of one key.
    """

    model: str
    kind: str
    layer: int
    head: int
    query: int
    relative_to: int | Literal["mean"] | None
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    keys: NDArray[np.int64]  # n: keys the query sees
    values: Floats  # n: scores before any soft-cap, minus that of `relative_to`
    weights: Floats  # n
    positional_bias: Floats  # n
    softcap: float | None
    query_writers: tuple[Writer, ...]
    key_writers: tuple[Writer, ...]
    query_parts: Floats = field(repr=False)  # query's writers × n
    key_parts: Floats = field(repr=False)  # keys' writers × n

    holds: ClassVar[tuple[type, ...]] = (Writer,)

    @property
    def title(self) -> str:
        asked = self.query_tokens[self.query]
        return f"head {self.layer}-{self.head}, “{asked}” ({self.query}) to every key"

    @property
    def table(self) -> pd.DataFrame:
        """Each writer's part in where the query looks; measures `query` and `key`."""
        pull = self.weights / self.weights.sum() - 1 / len(self.keys)
        sides = (self.query_parts @ pull, self.key_parts @ pull)
        return sides_table((self.query_writers, self.key_writers), sides)

    def of(self, key: int) -> pd.DataFrame:
        """Each writer's part of the score with one key.

        Parameters
        ----------
        key
            The key's position.

        Returns
        -------
        pandas.DataFrame
            As `table`, of this key alone.
        """
        at = np.flatnonzero(self.keys == key)
        if not len(at):
            raise BadInput(f"Query {self.query} does not see key {key}; it sees {len(self.keys)}.")
        sides = (self.query_parts[:, at[0]], self.key_parts[:, at[0]])
        return sides_table((self.query_writers, self.key_writers), sides)

    def rows(self, name: str | None = None, kind: str | None = None) -> pd.DataFrame:
        """The heads among the writers of one side."""
        return super().rows("key" if name is None else name, kind or self.kind)

    def top(self, name: str | None = None, n: int = 5, kind: str | None = None) -> pd.DataFrame:
        """The writers of one side with the largest parts, largest first by size."""
        return strongest(self.table, name, n)


@torch.enable_grad()
def all_keys(
    scope: Scope,
    passed: HeadPass,
    row: Row,
    queries: Tokens,
    keys: Tokens,
    against: int | Literal["mean"] | None,
) -> QueryScores:
    call = row.call
    seen = row.seen.nonzero().flatten()
    of_query = written(passed, row.q, torch.tensor([row.query]))
    query_parts = row.scaling * of_query.vectors @ row.k.detach().double().T
    if call.kind == "cross":
        of_keys = WrittenRows((Writer("encoder"),), row.products()[None])
    else:
        of_keys = written_rows(passed, row.scaling * (row.k @ row.q.detach()))
    values = row.products() + row.bias
    every: list[Any] = [query_parts, of_keys.values, values[None], row.bias[None]]
    shown = [one[:, seen] for one in every]
    if against == "mean":
        shown = [one - one.mean(1, keepdim=True) for one in shown]
    elif against is not None:
        shown = [one[:, seen] - one[:, [against]] for one in every]
    by_query, by_key, scores, bias = (one.cpu().numpy() for one in shown)
    return QueryScores(
        model=scope.name,
        kind=call.kind,
        layer=call.layer,
        head=row.head,
        query=row.query,
        relative_to=against,
        query_tokens=tuple(queries.labels),
        key_tokens=tuple(keys.labels),
        keys=seen.cpu().numpy(),
        values=scores[0],
        weights=row.weights()[seen].cpu().numpy(),
        positional_bias=bias[0],
        softcap=call.softcap,
        query_writers=of_query.writers,
        key_writers=of_keys.writers,
        query_parts=by_query,
        key_parts=by_key,
    )
