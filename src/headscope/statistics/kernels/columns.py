"""Key and pair features of some queries, as a few products with their weights.

A number per query and key seldom needs a full matrix. "A word that this word sees" is one number
per key, for queries that are words; "the same token" is a few keys of each query; a distance is a
number per key and one per query. So a column x_ij of a block is written as Σ_f a_i^f · c_j^f plus a
few single pairs; only features that do not fit this form stay matrices. If a query does not see a
key, its weight is 0 and the column's value is free. The form is found once for all layers of a
text. It replaces a product with some twenty matrices by one with a few distinct columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import pad

from headscope.statistics.features.feature import PairFeature
from headscope.statistics.kernels.blocks import Plan

SPAN = 1024  # keys per GPU processor at a time
FEW = 0.05  # largest share of a block's pairs that is gathered one by one


@dataclass
class _Column:
    """One feature: factors (a number per query, or 1; a column), single pairs, or a matrix."""

    factors: list[tuple[Tensor | None, int]] = field(default_factory=list)
    pairs: tuple[Tensor, Tensor] | None = None  # indices in tq·s, and their numbers
    matrix: int | None = None


class Columns:
    """The key and pair features of a plan (of one text) for a slice of queries."""

    def __init__(self, plan: Plan, queries: slice) -> None:
        self._grid, self._queries = plan.grid, queries
        self._device = plan.grid.key.ids.device
        self._keys: list[Tensor] = []  # each s
        self._matrices: list[Tensor] = []  # each tq s
        self.counts: dict[str, Tensor] = {}  # tq: the sum of each pair feature
        plain = [self._of_key(feature.make(plan.grid)[0].float()) for feature in plan.keys]
        made: dict[object, tuple[_Column, Tensor]] = {}
        visible = self._visible()

        def found(feature: PairFeature) -> _Column:
            if feature.make not in made:
                made[feature.make] = self._of_pairs(feature, visible)
            column, count = made[feature.make]
            self.counts[feature.name] = count
            return column

        plain += [found(feature) for feature in plan.pairs]
        squared = [found(feature) for feature in plan.squares]
        self._plain, self._squared = self._products(plain), self._products(squared)
        self._single = self._gathered(plain, squared)
        self._squares: Tensor | None = None  # memory for squared weights, reused by every layer

    def values(self, weights: Tensor) -> Tensor:
        """h F tq of weights (h tq s): key features, pair features, and those of squared weights."""
        weights = weights.contiguous()
        found = [self._plain.of(weights)]
        if self._squared.count:
            found.append(self._squared.of(self._square(weights)))
        result = torch.cat(found).transpose(0, 1).contiguous()
        places, numbers, ends, plain = self._single
        if places.numel():
            some = weights.flatten(1).index_select(1, places)
            some[:, plain:].square_()
            # sums of neighbours as differences of running sums: exact in double, in any order
            running = some.mul_(numbers).cumsum(1, dtype=torch.float64)
            sums = pad(running, (1, 0)).index_select(1, ends).diff(dim=1)
            result.flatten(1).add_(sums)
        return result

    def _square(self, weights: Tensor) -> Tensor:
        if self._squares is None or self._squares.shape != weights.shape:
            self._squares = torch.empty_like(weights)
        return torch.square(weights, out=self._squares)

    def _products(self, columns: list[_Column]) -> Products:
        factors = [
            (row, by_query, place)
            for row, column in enumerate(columns)
            for by_query, place in column.factors
        ]
        used = sorted({place for _, _, place in factors})
        count = self._queries.stop - self._queries.start
        one = torch.ones(count, device=self._device)
        matrices = [column.matrix for column in columns]
        dense = [self._matrices[at] for at in matrices if at is not None]

        def numbered(values: list[int]) -> Tensor:
            return torch.tensor(values, dtype=torch.int64, device=self._device)

        return Products(
            len(columns),
            torch.stack([self._keys[place] for place in used]) if used else None,
            numbered([row for row, _, _ in factors]),
            numbered([used.index(place) for _, _, place in factors]),
            torch.stack([one if f is None else f for _, f, _ in factors] or [one])[:, None],
            torch.stack(dense, dim=-1) if dense else None,
            numbered([row for row, at in enumerate(matrices) if at is not None]),
        )

    def _gathered(
        self, plain: list[_Column], squared: list[_Column]
    ) -> tuple[Tensor, Tensor, Tensor, int]:
        """Indices and numbers of all single pairs by feature and query, the end of each of the F·tq
        runs (0 first), and how many are for plain weights."""
        count, keys = self._queries.stop - self._queries.start, self._grid.key.ids.shape[1]
        there = [(row, one.pairs) for row, one in enumerate([*plain, *squared]) if one.pairs]
        none = torch.zeros(0, dtype=torch.int64, device=self._device)
        places = torch.cat([none, *(at for _, (at, _) in there)])
        numbers = torch.cat([none.float(), *(number for _, (_, number) in there)])
        into = torch.cat([none, *(row * count + at // keys for row, (at, _) in there)])
        of_plain = sum(len(at) for row, (at, _) in there if row < len(plain))
        each = torch.bincount(into, minlength=(len(plain) + len(squared)) * count)
        return places, numbers, pad(each.cumsum(0), (1, 0)), of_plain

    def _visible(self) -> Tensor:
        """tq s: whether a query may see a key, by order and padding."""
        query = torch.arange(self._queries.start, self._queries.stop, device=self._device)
        key = torch.arange(self._grid.key.ids.shape[1], device=self._device)
        seen = self._grid.key.valid[0].expand(query.numel(), key.numel())
        if not self._grid.causal:
            return seen
        return seen & (key <= query[:, None] + self._grid.offset)

    def _of_key(self, numbers: Tensor) -> _Column:
        return _Column(self._factor(None, numbers))

    def _factor(self, by_query: Tensor | None, by_key: Tensor) -> list[tuple[Tensor | None, int]]:
        """Add a factor, reusing equal columns and skipping zeros."""
        if not bool(by_key.any()) or (by_query is not None and not bool(by_query.any())):
            return []
        for place, known in enumerate(self._keys):
            if torch.equal(known, by_key):
                return [(by_query, place)]
        self._keys.append(by_key)
        return [(by_query, len(self._keys) - 1)]

    def _of_pairs(self, feature: PairFeature, visible: Tensor) -> tuple[_Column, Tensor]:
        numbers = feature.make(self._grid, self._queries)[0]
        count = numbers.sum(-1, dtype=torch.float64)
        if feature.of_distance is not None and self._grid.causal and self._grid.same:
            return _Column(self._by_distance(feature.of_distance)), count
        numbers = numbers.float()
        some = numbers != 0
        whole = some & (numbers == 1)
        if not torch.equal(some, whole):
            return self._as_matrix(numbers), count
        by_query, by_key = some.any(1), some.any(0)
        rest = ((by_query[:, None] & by_key) ^ some) & visible
        few = FEW * numbers.numel()
        if int(rest.sum()) <= few:
            factors = self._factor(by_query.float(), by_key.float())
            return _Column(factors, _single(rest, numbers - 1)), count
        if int(some.sum()) <= few:
            return _Column([], _single(some, numbers)), count
        return self._as_matrix(numbers), count

    def _by_distance(self, power: int) -> list[tuple[Tensor | None, int]]:
        """(i − j)^n by i − i0 and i0 − j, with i0 the first query: sums of what is not negative."""
        start = self._queries.start + self._grid.offset
        key = start - torch.arange(self._grid.key.ids.shape[1], device=self._device).float()
        query = torch.arange(
            self._queries.stop - self._queries.start, device=self._device, dtype=torch.float32
        )
        one = torch.ones_like(key)
        if power == 1:
            return [*self._factor(None, key), *self._factor(query, one)]
        return [
            *self._factor(None, key.square()),
            *self._factor(2 * query, key),
            *self._factor(query.square(), one),
        ]

    def _as_matrix(self, numbers: Tensor) -> _Column:
        self._matrices.append(numbers.expand(self._queries.stop - self._queries.start, -1))
        return _Column([], None, len(self._matrices) - 1)


@dataclass(frozen=True)
class Products:
    """Features as weights times columns, each times a number per query; the rest as matrices."""

    count: int  # of features
    columns: Tensor | None  # C s
    rows: Tensor  # n: the feature of each factor
    places: Tensor  # n: its column
    by_query: Tensor  # n 1 tq
    matrices: Tensor | None  # tq s M
    of_matrix: Tensor  # M: the feature of each matrix

    def of(self, weights: Tensor) -> Tensor:
        """F h tq of weights (h tq s)."""
        heads, count, keys = weights.shape
        result = weights.new_zeros(self.count, heads, count)
        if self.columns is not None:
            made = _narrow(self.columns, weights.view(heads * count, keys)).view(-1, heads, count)
            result.index_add_(0, self.rows, made[self.places] * self.by_query)
        if self.matrices is not None:
            dense = weights.transpose(0, 1) @ self.matrices  # tq h M
            result.index_add_(0, self.of_matrix, dense.permute(2, 1, 0))
        return result


def _narrow(columns: Tensor, weights: Tensor) -> Tensor:
    """C r: columns (C s) times rows of weights (r s).

    Columns first: the other order is several times slower with few columns. On a GPU, stretches of
    the keys run side by side, so that all of its processors work.
    """
    keys = weights.shape[1]
    whole = keys - keys % SPAN
    if not weights.is_cuda or whole < 2 * SPAN:
        return columns @ weights.T
    by_span = columns[:, :whole].unflatten(1, (-1, SPAN)).transpose(0, 1)  # n C span
    rows = weights[:, :whole].unflatten(1, (-1, SPAN)).permute(1, 2, 0)  # n span r
    return (by_span @ rows).sum(0) + columns[:, whole:] @ weights[:, whole:].T


def _single(at: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor] | None:
    places = at.flatten().nonzero().flatten()
    return (places, numbers.flatten()[places]) if places.numel() else None
