"""Features: what one query's row of weights is reduced to, named so that it is computed once.

A statistic names the features it needs; however many statistics ask for one, every kernel
computes it once per call. Four kinds cover what a row of weights can be asked:

- `KeyFeature`: Σ_j α_ij x_j, with a number x_j per key (1 for `[SEP]`, 0 elsewhere);
- `ValueFeature`: the same with a number per key and head, made from the call (value norms);
- `PairFeature`: Σ_j α_ij x_ij, with a number per query and key (1 for the same word), or the
  same sum of squared weights;
- `RowFeature`: anything else that can be said of whole rows (entropy, the largest weight).

All features of the first three kinds in use become the columns of one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from headscope.capture import Call
from headscope.statistics.features.grid import Grid


@dataclass(frozen=True)
class KeyFeature:
    name: str
    make: Callable[[Grid], Tensor]  # -> b s
    is_share: bool = False  # x_j is 0 or 1, which half precision holds exactly


@dataclass(frozen=True)
class ValueFeature:
    name: str
    make: Callable[[Grid, Call], Tensor]  # -> b h s


@dataclass(frozen=True)
class PairFeature:
    name: str
    make: Callable[[Grid, slice], Tensor]  # (grid, queries) -> b|1 tq s
    squared: bool = False  # Σ_j α_ij² x_ij
    of_distance: int | None = None  # x_ij is |i − j| to this power, 1 or 2
    is_share: bool = False  # x_ij is 0 or 1, a bit of what two tokens are to each other


@dataclass(frozen=True)
class RowFeature:
    """With a `width` the feature is a vector per row; `limit` keeps it to the first queries."""

    name: str
    make: Callable[[Tensor, Grid, slice], Tensor]  # (weights b h tq s, …) -> b h tq [width]
    width: int | None = None
    limit: int | None = None


@dataclass(frozen=True)
class RankFeature(RowFeature):
    """A rank correlation of rows with a relation of tokens, in a form a kernel can make itself."""

    ranks: Callable[[Grid], tuple[Tensor, Tensor]] | None = None
    """-> the relation's ranks, centred, and the pool they are within, b t s."""


@dataclass(frozen=True)
class EvennessFeature(RowFeature):
    """How evenly rows lie on the query's own part of the text, in a form a kernel can make."""

    own: Callable[[Grid, slice], Tensor] | None = None  # -> b tq s bool


Feature = KeyFeature | ValueFeature | PairFeature | RowFeature
