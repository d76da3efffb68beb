"""The plain kernel: a plan of the requested features, then block after block of queries."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.statistics.features.feature import (
    Feature,
    KeyFeature,
    PairFeature,
    RowFeature,
    ValueFeature,
    forget_surprise,
)
from headscope.statistics.features.grid import Grid
from headscope.statistics.kernels.scores import block_output, block_weights

PAIR_BYTES = 2**26  # smaller pair features of a batch are cached for its other layers
PAIR_BYTES_GPU = 2**30


class Plan:
    """Features of one kind of attention on one grid; columns are in the order of `names`."""

    def __init__(self, grid: Grid, features: Iterable[Feature]) -> None:
        self.grid = grid
        found = {feature.name: feature for feature in features}.values()
        self.features = tuple(found)
        self.keys = [f for f in found if isinstance(f, KeyFeature)]
        self.values = [f for f in found if isinstance(f, ValueFeature)]
        self.pairs = [f for f in found if isinstance(f, PairFeature) and not f.squared]
        self.squares = [f for f in found if isinstance(f, PairFeature) and f.squared]
        self.rows = [f for f in found if isinstance(f, RowFeature) and f.width is None]
        self.wide = [f for f in found if isinstance(f, RowFeature) and f.width is not None]
        scalars = [*self.keys, *self.values, *self.pairs, *self.squares, *self.rows]
        self.names = [feature.name for feature in scalars]
        self._key_columns: Tensor | None = None
        self._pair_columns: dict[tuple[int, int, int, int], Tensor] = {}
        self._pair_bytes = 0

    def key_columns(self) -> Tensor:
        """b s C float32."""
        if self._key_columns is None:
            columns = [feature.make(self.grid).float() for feature in self.keys]
            self._key_columns = torch.stack(columns, dim=-1)
        return self._key_columns

    def value_columns(self, call: Call) -> Tensor:
        """b h s C float32."""
        return torch.stack([f.make(self.grid, call).float() for f in self.values], dim=-1)

    def pair_columns(self, documents: slice, queries: slice) -> Tensor:
        """b tq s P float32 of the pairs and then the squares, kept from one layer to the next
        while that takes little memory."""
        at = (documents.start, documents.stop, queries.start, queries.stop)
        kept = self._pair_columns.get(at)
        if kept is not None:
            return kept
        grid = self.grid.of_documents(documents)
        batch, keys = grid.key.ids.shape
        count = queries.stop - queries.start
        wanted = [*self.pairs, *self.squares]
        columns = torch.empty(batch, count, keys, len(wanted), device=grid.key.ids.device)
        made: dict[object, int] = {}  # a pool's weights and their squares share a column's numbers
        for place, feature in enumerate(wanted):
            same = made.setdefault(feature.make, place)
            columns[..., place] = (
                feature.make(grid, queries) if same == place else columns[..., same]
            )
        size = columns.numel() * columns.element_size()
        most = PAIR_BYTES_GPU if columns.is_cuda else PAIR_BYTES
        if self._pair_bytes + size <= most:
            self._pair_columns[at] = columns
            self._pair_bytes += size
        return columns

    def of_keys(self, count: int) -> Plan:
        """The same features with only the first keys."""
        return Plan(self.grid.of_keys(count), self.features)


def blocks(
    documents: int, heads: int, queries: int, keys: int, most: int
) -> Iterator[tuple[slice, slice]]:
    """Cut documents × queries so that no block has more than `most` weights (or is one row)."""
    row = heads * keys
    per_document = max(1, min(queries, most // row))
    at_once = max(1, most // (row * queries)) if per_document == queries else 1
    for first in range(0, documents, at_once):
        chosen = slice(first, min(documents, first + at_once))
        for start in range(0, queries, per_document):
            yield chosen, slice(start, min(queries, start + per_document))


MOST = 2**21  # weights in a block: 8 MB, which stays in a processor's cache between reductions
MOST_OF_CALL = 2**25  # of a call on a GPU, which is faster in few large steps


class Reduced:
    """A call's row features, filled block by block."""

    def __init__(self, plan: Plan, batch: int, heads: int, queries: int) -> None:
        device = plan.grid.key.ids.device
        self.values = torch.empty(batch, heads, len(plan.names), queries, device=device)
        self.wide = {
            f.name: torch.zeros(
                batch, heads, min(queries, f.limit or queries), f.width or 1, device=device
            )
            for f in plan.wide
        }

    def of_heads(self, chosen: slice) -> Reduced:
        """The same features of some heads, to be filled in place."""
        some = copy.copy(self)
        some.values = self.values[:, chosen]
        some.wide = {name: values[:, chosen] for name, values in self.wide.items()}
        return some


def from_scores(
    call: Call, plan: Plan, kept: Tensor | None = None, most: int | None = None
) -> tuple[Reduced, Tensor]:
    """Row features and output (b t h d) of a call; weights are computed one block at a time.

    `kept` (b h t s float32) receives all weights; a block has at most `most`.
    """
    assert call.q is not None and call.v is not None
    batch, heads, queries, _ = call.q.shape
    output = torch.empty(
        batch, queries, heads, call.v.shape[-1], dtype=call.v.dtype, device=call.v.device
    )

    def make(documents: slice, part: slice) -> Tensor:
        place = None if kept is None else kept[documents, :, part]
        weights = block_weights(call, plan.grid, documents, part, place)
        output[documents, part] = block_output(call, weights, documents)
        return weights

    return _reduce(call, plan, batch, heads, queries, make, most), output


def from_weights(call: Call, plan: Plan, weights: Tensor) -> Reduced:
    """Row features of existing weights (b h t s)."""
    batch, heads, queries, _ = weights.shape
    return _reduce(
        call, plan, batch, heads, queries, lambda b, q: weights[b, :, q].detach().float()
    )


def _reduce(
    call: Call,
    plan: Plan,
    batch: int,
    heads: int,
    queries: int,
    make: Callable[[slice, slice], Tensor],
    most: int | None = None,
) -> Reduced:
    reduced = Reduced(plan, batch, heads, queries)
    values = plan.value_columns(call) if plan.values else None
    keys = plan.grid.key.ids.shape[1]
    most = most or (MOST_OF_CALL if plan.grid.key.ids.is_cuda else MOST)
    for documents, part in blocks(batch, heads, queries, keys, most):
        weights = make(documents, part)
        grid = plan.grid.of_documents(documents)
        _fill(reduced, plan, grid, weights, values, documents, part)
    return reduced


def _fill(
    reduced: Reduced,
    plan: Plan,
    grid: Grid,
    weights: Tensor,  # b h tq s
    values: Tensor | None,
    documents: slice,
    queries: slice,
) -> None:
    batch, heads, count, keys = weights.shape
    place = 0

    def put(columns: Tensor) -> None:  # b h tq C
        nonlocal place
        width = columns.shape[-1]
        target = reduced.values[documents, :, place : place + width, queries]
        target.copy_(columns.transpose(2, 3))
        place += width

    if plan.keys:
        columns = plan.key_columns()[documents]
        flat = torch.bmm(weights.reshape(batch, heads * count, keys), columns)
        put(flat.view(batch, heads, count, -1))
    if values is not None:
        put(weights @ values[documents])
    if plan.pairs or plan.squares:
        columns, first = plan.pair_columns(documents, queries), len(plan.pairs)
        put(_over_pairs(weights, columns, first))
    fill_rows(reduced, plan, grid, weights, documents, queries)


def fill_rows(
    reduced: Reduced, plan: Plan, grid: Grid, weights: Tensor, documents: slice, queries: slice
) -> None:
    """The features that need whole rows; they come after all others."""
    for place, feature in enumerate(plan.rows, len(plan.names) - len(plan.rows)):
        reduced.values[documents, :, place, queries] = feature.make(weights, grid, queries)
    for feature in plan.wide:
        stop = min(queries.stop, feature.limit or queries.stop)
        if stop > queries.start:
            near = slice(queries.start, stop)
            # features cache by the tensor's identity
            first = weights if stop == queries.stop else weights[:, :, : stop - queries.start]
            reduced.wide[feature.name][documents, :, near] = feature.make(first, grid, near)
    forget_surprise(grid)


def _over_pairs(weights: Tensor, columns: Tensor, plain: int) -> Tensor:
    """b h tq P: weights times columns (b tq s P), squared weights from column `plain` on."""
    batch, heads, count, _ = weights.shape
    found = weights.new_empty(batch, count, heads, columns.shape[-1])
    # on a processor text by text, whose rows need no copy for the product
    each = batch if weights.is_cuda else 1
    for start in range(0, batch, each):
        some = slice(start, start + each)
        rows = weights[some].transpose(1, 2)  # b tq h s
        if plain:
            found[some, :, :, :plain] = rows @ columns[some, :, :, :plain]
        if plain < columns.shape[-1]:
            found[some, :, :, plain:] = rows.square() @ columns[some, :, :, plain:]
    return found.transpose(1, 2)
