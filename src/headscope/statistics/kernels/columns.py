"""Key and pair features of some queries as few products with their weights.

A number per query and key is seldom a matrix in earnest. "A word that this word sees" is one
number per key, counted for the queries that are words; "the same token" is a few keys of each
query; a distance is a number per key and one per query. So a column x_ij of a block is written as
Σ_f a_i^f · c_j^f, and beside it the few pairs where that is not yet right; only what is neither
stays a matrix. Where a query does not see a key its weight is 0, and the column may be anything.
Found once for all layers of a text, this makes a product with some twenty matrices one with a few
columns, of which equal ones are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from headscope.statistics.features.feature import PairFeature
from headscope.statistics.kernels.plan import Plan

FEW = 0.05  # of a block's pairs, that are gathered one by one


@dataclass
class _Column:
    """One feature: factors (a number per query, or 1; a column), single pairs, or a matrix."""

    factors: list[tuple[Tensor | None, int]] = field(default_factory=list)
    pairs: slice | None = None  # of those of all features
    matrix: int | None = None


class Columns:
    """The key and pair features of a plan (of one text) for a slice of queries."""

    def __init__(self, plan: Plan, queries: slice) -> None:
        self._grid, self._queries = plan.grid, queries
        self._device = plan.grid.key.ids.device
        self._keys: list[Tensor] = []  # each s
        self._matrices: list[Tensor] = []  # each tq s
        self._pairs: list[tuple[Tensor, Tensor]] = []  # places in tq·s, and the numbers there
        self.counts: dict[str, Tensor] = {}  # tq: how much of each pair feature there is
        self._plain = [self._of_key(feature.make(plan.grid)[0].float()) for feature in plan.keys]
        made: dict[object, tuple[_Column, Tensor]] = {}
        visible = self._visible()

        def found(feature: PairFeature) -> _Column:
            if feature.make not in made:
                made[feature.make] = self._of_pairs(feature, visible)
            column, count = made[feature.make]
            self.counts[feature.name] = count
            return column

        self._plain += [found(feature) for feature in plan.pairs]
        self._squared = [found(feature) for feature in plan.squares]
        self._gathered = self._gathering()
        self._stacked = (
            torch.stack(self._keys) if self._keys else None,
            torch.stack(self._matrices, dim=-1) if self._matrices else None,
        )
        self._squares: Tensor | None = None  # room for squared weights, the same for every layer

    def values(self, weights: Tensor) -> Tensor:
        """h F tq of weights (h tq s): key features, pair features, and those of squared weights."""
        weights = weights.contiguous()
        plain = self._reduced(weights, self._plain, squared=False)
        if not self._squared:
            return plain
        return torch.cat([plain, self._reduced(weights, self._squared, squared=True)], dim=1)

    def _reduced(self, weights: Tensor, columns: list[_Column], squared: bool) -> Tensor:
        heads, count, keys = weights.shape
        counted = self._square(weights) if squared else weights
        result = weights.new_zeros(heads, len(columns), count)
        by_key, by_pair = self._stacked
        if by_key is not None:
            used = sorted({place for column in columns for _, place in column.factors})
            at = {place: number for number, place in enumerate(used)}
            # columns first: a product with few columns is several times slower the other way
            products = by_key[used] @ counted.view(heads * count, keys).T
            for row, column in enumerate(columns):
                for factor, place in column.factors:
                    product = products[at[place]].view(heads, count)
                    result[:, row] += product if factor is None else product * factor
        if by_pair is not None and any(column.matrix is not None for column in columns):
            dense = (counted.transpose(0, 1) @ by_pair).permute(1, 2, 0)  # h m tq
            for row, column in enumerate(columns):
                if column.matrix is not None:
                    result[:, row] += dense[:, column.matrix]
        self._add_pairs(result, weights, columns, squared)
        return result

    def _square(self, weights: Tensor) -> Tensor:
        if self._squares is None or self._squares.shape != weights.shape:
            self._squares = torch.empty_like(weights)
        return torch.square(weights, out=self._squares)

    def _add_pairs(
        self, result: Tensor, weights: Tensor, columns: list[_Column], squared: bool
    ) -> None:
        places, numbers, queries = self._gathered
        for row, column in enumerate(columns):
            if column.pairs is None:
                continue
            some = weights.flatten(1).index_select(1, places[column.pairs])
            some = (some.square() if squared else some) * numbers[column.pairs]
            into = queries[column.pairs].expand_as(some)
            result[:, row].scatter_add_(1, into, some)

    def _visible(self) -> Tensor:
        """tq s: whether a query may see a key, as far as order and padding say."""
        query = torch.arange(self._queries.start, self._queries.stop, device=self._device)
        key = torch.arange(self._grid.key.ids.shape[1], device=self._device)
        seen = self._grid.key.valid[0].expand(query.numel(), key.numel())
        if not self._grid.causal:
            return seen
        return seen & (key <= query[:, None] + self._grid.offset)

    def _of_key(self, numbers: Tensor) -> _Column:
        return _Column(self._factor(None, numbers))

    def _factor(self, by_query: Tensor | None, by_key: Tensor) -> list[tuple[Tensor | None, int]]:
        """A column that is there already is not made again, and one of zeros not at all."""
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
            return _Column(factors, self._single(rest, numbers - 1)), count
        if int(some.sum()) <= few:
            return _Column([], self._single(some, numbers)), count
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

    def _single(self, at: Tensor, numbers: Tensor) -> slice | None:
        places = at.flatten().nonzero().flatten()
        if not places.numel():
            return None
        before = sum(len(one) for one, _ in self._pairs)
        self._pairs.append((places, numbers.flatten()[places]))
        return slice(before, before + places.numel())

    def _as_matrix(self, numbers: Tensor) -> _Column:
        self._matrices.append(numbers.expand(self._queries.stop - self._queries.start, -1))
        return _Column([], None, len(self._matrices) - 1)

    def _gathering(self) -> tuple[Tensor, Tensor, Tensor]:
        """Places, numbers and queries of all single pairs."""
        none = torch.zeros(0, dtype=torch.int64, device=self._device)
        places = torch.cat([none, *(one for one, _ in self._pairs)])
        numbers = torch.cat([none.float(), *(one for _, one in self._pairs)])
        return places, numbers, places // self._grid.key.ids.shape[1]
