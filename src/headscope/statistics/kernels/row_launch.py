"""Launching the row kernel: features of whole rows of a call, where it applies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.capture.softmax import weights_of_scores
from headscope.statistics.features.feature import EvennessFeature, RankFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.kernels.blocks import Plan, Reduced
from headscope.statistics.kernels.scores import block_output, block_weights, visible
from headscope.statistics.kernels.usable import documents_at_once, has_logarithm, usable

BITS = 30  # features of keys, or of pairs of tokens: bits of a number, without the last two
OWN = 30  # the bit of keys in the query's own part of the text
NO_RANK = -1024  # of a key outside a relation's pool; doubled ranks of 512 keys are within ±511
FEWEST_WIDE, MOST_KEYS = 64, 512  # of a tile; shorter rows are padded to so many keys
MOST_HELD = 2**28  # weights in memory for ranking: 1 GB
ROWS = ("entropy", "largest", "strongest_key", "self", "previous", "next")


@dataclass(frozen=True)
class RowTile:
    """The kernel's tile sizes."""

    queries: int
    warps: int
    stages: int = 1


def suits(call: Call, plan: Plan) -> bool:
    """Whether the kernel can compute all requested features of this call on this device."""
    assert call.q is not None
    return fits(call, plan) and usable("row", call.q)


def fits(call: Call, plan: Plan) -> bool:
    """Whether the kernel supports such calls."""
    assert call.q is not None and call.k is not None and call.v is not None
    makes = {feature.make for feature in plan.pairs}
    return (
        call.kind != "cross"
        and not (plan.grid.causal and plan.wide)
        and plan.grid.offset == 0
        and call.q.shape[2] == call.k.shape[2]
        and call.k.shape[2] <= MOST_KEYS
        and not plan.values
        and len(plan.pairs) <= BITS
        and all(feature.is_share or feature.name == "distance" for feature in plan.pairs)
        and all(feature.is_share and feature.make in makes for feature in plan.squares)
        and all(isinstance(f, RankFeature) or f.name in ROWS for f in plan.rows)
        and sum(isinstance(f, RankFeature) for f in plan.rows) <= 2
        and all(isinstance(f, EvennessFeature) for f in plan.wide)
        and len(plan.wide) <= 1
    )


def tile_for(keys: int) -> RowTile:
    """A row is never divided among warps, which would wait for each other at every sum. They share
    a tile's rows (tuned on an H200) only for rows of up to 128 keys."""
    if keys % 16 == 0 and width(keys) <= 128:
        return RowTile(queries=512 // width(keys), warps=4)
    return RowTile(queries=max(1, 128 // width(keys)), warps=1)


@dataclass(frozen=True)
class Slots:
    """Rows of a batch whose weights are kept."""

    places: Tensor  # b t int32: a row's number, -1 if it is not kept
    count: int


def slots_of(grid: Grid, documents: Tensor, queries: Tensor) -> Slots:
    """A slot for each of some rows, in their order."""
    places = torch.full(grid.query.ids.shape, -1, dtype=torch.int32, device=documents.device)
    numbers = torch.arange(len(documents), dtype=torch.int32, device=documents.device)
    places[documents, queries] = numbers
    return Slots(places, len(documents))


def from_scores(
    call: Call, plan: Plan, slots: Slots | None = None, tile: RowTile | None = None
) -> tuple[Reduced, Tensor, Tensor | None]:
    """Row features, output (b t h d), and the weights of kept rows (h n s) in float32."""
    assert call.q is not None and call.v is not None
    batch, heads, queries, _ = call.q.shape
    keys = plan.grid.key.ids.shape[1]
    layout = _layout(plan)
    output = call.v.new_empty(batch, queries, heads, call.v.shape[-1])
    reduced = Reduced(plan, batch, heads, queries)
    kept = None if slots is None else output.new_empty(heads, slots.count, keys, dtype=torch.float)
    held = max(1, MOST_HELD // (heads * queries * keys))
    # parts begin at equally aligned addresses, or the kernel would be compiled for each
    span = min(held // 4 * 4 or held, documents_at_once(heads))
    for start in range(0, batch, span):
        some = slice(start, start + span)
        rows = reduced.values[some]
        weights = rows_of(call, plan.grid, some, output[some])
        if plan.keys and not _marked(plan):
            columns = plan.key_columns()[some]
            shares = torch.bmm(weights.view(len(rows), heads * queries, keys), columns)
            of_keys = shares.view(len(rows), heads, queries, -1).transpose(2, 3)
            rows[:, :, : len(plan.keys)].copy_(of_keys)
        wide = next((of[some] for of in reduced.wide.values()), rows)
        of_batch = layout.part(some, None if slots is None else slots.places)
        into = _Into(rows, wide, kept)
        _reduce(plan, weights, of_batch, into, tile or tile_for(keys))
    return reduced, output, kept


@dataclass(frozen=True)
class _Into:
    """Where the kernel writes."""

    rows: Tensor  # b h F t
    wide: Tensor  # b h t 3
    kept: Tensor | None  # h n s


def _reduce(plan: Plan, weights: Tensor, layout: _Layout, into: _Into, tile: RowTile) -> None:
    from headscope.statistics.kernels.row_kernel import reduce_rows

    rows, kept = into.rows, into.kept
    batch, heads, queries, keys = weights.shape
    place = {name: number for number, name in enumerate(plan.names)}
    bit_of = {feature.make: number for number, feature in enumerate(plan.pairs)}
    ranked = [place[f.name] for f in plan.rows if isinstance(f, RankFeature)]
    arguments = (
        weights, layout.bits, layout.ranks, layout.first, layout.end, layout.slots,
        rows, into.wide, rows if kept is None else kept,
        rows.stride(0), rows.stride(1), rows.stride(2),
        heads, queries, keys, 0 if kept is None else kept.shape[1],
    )  # fmt: skip
    constants: dict[str, Any] = {
        "FEATURES": len(plan.keys), "MARKED": _marked(plan), "PAIRS": len(plan.pairs),
        "NOT_BITS": sum(1 << n for n, feature in enumerate(plan.pairs) if not feature.is_share),
        "SQUARES": len(plan.squares),
        "SQUARE_BITS": sum(bit_of[f.make] << (5 * n) for n, f in enumerate(plan.squares)),
        "ENTROPY": place.get("entropy", -1), "LARGEST": place.get("largest", -1),
        "STRONGEST": place.get("strongest_key", -1),
        "SELF": place.get("self", -1), "PREVIOUS": place.get("previous", -1),
        "NEXT": place.get("next", -1),
        "DISTANCE": place.get("distance", -1),
        "EVENNESS": bool(plan.wide),
        "RANK": ranked[0] if ranked else -1, "SECOND_RANK": ranked[1] if ranked[1:] else -1,
        "COUNT": len(plan.names), "PLACES": 1 << max(4, (len(plan.names) - 1).bit_length()),
        "KEPT": kept is not None, "FAST": has_logarithm(),
        "BLOCK_M": tile.queries, "BLOCK_N": width(keys),
        "num_warps": tile.warps, "num_stages": tile.stages, "enable_fp_fusion": True,
    }  # fmt: skip
    reduce_rows[(-(-queries // tile.queries), batch * heads)](*arguments, **constants)


@dataclass(frozen=True)
class _Layout:
    """The kernel's inputs from a batch's tokens; made once for all layers."""

    bits: Tensor  # b t s int32: relations of two tokens, then a key's properties, one bit each
    ranks: Tensor  # b t s int32: doubled ranks of two relations, 11 bits each
    first: Tensor  # b int32: the first real key
    end: Tensor  # b int32: the position after the last real key
    slots: Tensor  # b t int32: the number of a row that is kept, else -1

    def part(self, some: slice, slots: Tensor | None) -> _Layout:
        """Of some documents."""
        held = self.slots if slots is None else slots
        every = (self.bits, self.ranks, self.first, self.end, held)
        return _Layout(*(tensor[some] for tensor in every))


_layouts: WeakKeyDictionary[Plan, _Layout] = WeakKeyDictionary()


def _layout(plan: Plan) -> _Layout:
    if plan not in _layouts:
        _layouts[plan] = _make_layout(plan)
    return _layouts[plan]


def _make_layout(plan: Plan) -> _Layout:
    grid = plan.grid
    first = grid.key.start.to(torch.int32)
    end = (first + grid.key.lengths).to(torch.int32)
    return _Layout(_bits(plan), _ranks(plan), first, end, first)


def _marked(plan: Plan) -> int:
    """How many features of keys are encoded as bits: all, or none."""
    fits = len(plan.pairs) + len(plan.keys) <= BITS
    return len(plan.keys) if fits and all(feature.is_share for feature in plan.keys) else 0


def _bits(plan: Plan) -> Tensor:
    grid = plan.grid
    shape = (*grid.query.ids.shape, grid.key.ids.shape[1])
    every = slice(0, shape[1])
    bits = torch.zeros(shape, dtype=torch.int32, device=grid.key.ids.device)
    for number, feature in enumerate(plan.pairs):
        if feature.is_share:
            bits += feature.make(grid, every).to(torch.int32) << number
    for number, feature in enumerate(plan.keys[: _marked(plan)], len(plan.pairs)):
        bits += (feature.make(grid).to(torch.int32) << number)[:, None]
    for feature in plan.wide:
        assert isinstance(feature, EvennessFeature) and feature.own is not None
        bits += feature.own(grid, every).to(torch.int32) << OWN
    return bits


def _ranks(plan: Plan) -> Tensor:
    grid = plan.grid
    found: list[Tensor] = []
    for feature in plan.rows:
        if isinstance(feature, RankFeature):
            assert feature.ranks is not None
            ranks, pool = feature.ranks(grid)
            found.append(torch.where(pool, ranks * 2, NO_RANK).to(torch.int32))
    if not found:
        return grid.key.ids
    second = found[1] if found[1:] else found[0]
    return (found[0] & 0x7FF) | ((second & 0x7FF) << 11)


def width(keys: int) -> int:
    """A tile's width: one of a few powers of two, because each is compiled."""
    return max(FEWEST_WIDE, 1 << (keys - 1).bit_length())


def rows_of(call: Call, grid: Grid, some: slice, output: Tensor) -> Tensor:
    """b h t s in float32, contiguous; their output is written to `output` (b t h d).

    Like `scores`, in single precision; but q, k and v are converted and laid out in one step each,
    the scale is part of a product, and the output is rounded on storing. On a GPU every further
    pass over a batch costs as much as a product.
    """
    assert call.q is not None and call.k is not None and call.v is not None
    assert call.scaling is not None
    every = slice(0, call.q.shape[2])
    if call.bias is not None or call.softcap is not None:
        weights = block_weights(call, grid, some, every)
        output.copy_(block_output(call, weights, some))
        return weights.contiguous()
    q, k, v = (_widened(of[some]) for of in (call.q, call.k, call.v))
    batch, heads, queries, dim = q.shape
    groups, keys = k.shape[1], k.shape[2]
    shape = (batch * groups, heads // groups * queries)
    scores = q.new_empty(*shape, keys)
    turned = k.view(-1, keys, dim).transpose(1, 2)
    scores.baddbmm_(q.view(*shape, dim), turned, beta=0, alpha=call.scaling)
    del q, k, turned
    seen = visible(call, grid, some, every)
    weights = weights_of_scores(
        scores.view(batch, heads, queries, keys),
        visible=None if seen is None else seen[:, None],
        sinks=call.sinks,
    ).contiguous()
    mixed = torch.bmm(weights.view(*shape, keys), v.view(-1, keys, v.shape[-1]))
    output.copy_(mixed.view(batch, heads, queries, -1).transpose(1, 2))
    return weights


def _widened(tensor: Tensor) -> Tensor:
    """In float32 and contiguous, by at most one copy."""
    if tensor.dtype == torch.float32 and tensor.is_contiguous():
        return tensor
    return tensor.new_empty(tensor.shape, dtype=torch.float32).copy_(tensor)
