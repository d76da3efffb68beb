"""Launching the survey kernel: row features and output of a call in one pass, where it applies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.statistics.features.grid import PUNCTUATION, Grid
from headscope.statistics.kernels.blocks import Plan, Reduced
from headscope.statistics.kernels.usable import documents_at_once, usable

DIMS = (16, 32, 64, 128)
SHORT = 128  # tokens: shorter texts have their own tile
KEY_FEATURES = 14  # the kernel's columns for them
ROWS = ("entropy", "largest", "self", "previous", "next")
PAIRS = ("distance", "distance_squared", "same_token", "same_token_other")


@dataclass(frozen=True)
class Tile:
    """The kernel's tile sizes, tuned on an H200 (benchmarks/survey_gpu.py)."""

    queries: int = 128
    keys: int = 64
    warps: int = 8
    stages: int = 3
    registers: int | None = None  # most per thread; fewer let more tiles share a processor


def suits(call: Call, plan: Plan) -> bool:
    """Whether the kernel can compute all requested features of this call on this device."""
    assert call.q is not None
    return fits(call, plan) and usable("survey", call.q)


def fits(call: Call, plan: Plan) -> bool:
    """Whether the kernel supports such calls."""
    assert call.q is not None and call.v is not None
    return (
        _within_reach(call)
        and call.scaling is not None
        and call.scaling > 0
        and call.bias is None
        and call.softcap is None
        and call.sinks is None
        and call.q.shape[-1] == call.v.shape[-1]
        and call.q.shape[-1] in DIMS
        and not plan.values
        and not plan.wide
        and not plan.squares
        and len(plan.keys) <= KEY_FEATURES
        and all(feature.name in ROWS for feature in plan.rows)
        and all(feature.name in PAIRS for feature in plan.pairs)
        and all(feature.is_share for feature in plan.keys)
    )


def _within_reach(call: Call) -> bool:
    """Whether 32-bit offsets suffice; not for 131,072 tokens of 128 heads of 128."""
    assert call.q is not None and call.k is not None and call.v is not None
    _, heads, queries, dim = call.q.shape
    ends = [tensor.shape[2] * tensor.stride(2) for tensor in (call.q, call.k, call.v)]
    return max(*ends, queries * heads * dim) < 2**31


def tile_for(call: Call) -> Tile:
    assert call.q is not None
    dim = call.q.shape[-1]
    if call.q.dtype == torch.float32:
        # not measured, but chosen so that a thread's numbers fit its registers
        if dim >= 128:
            return Tile(queries=32, keys=16, warps=8, stages=2)
        return Tile(queries=64 if dim < 64 else 32, keys=32, warps=4, stages=2)
    if dim >= 128:
        if _shared_memory(call.q.device) < 140_000:  # small GPUs lack memory for the larger tile
            return Tile(queries=64, keys=32, warps=4, stages=2)
        return Tile(queries=128, keys=64, warps=8, stages=3)
    stages = 2 if call.q.shape[2] <= SHORT else 3
    return Tile(queries=64, keys=64, warps=4, stages=stages, registers=168)


@cache
def _shared_memory(device: torch.device) -> int:
    """Bytes that one tile may take."""
    if device.type != "cuda":
        return 2**20
    about = torch.cuda.get_device_properties(device)
    return getattr(about, "shared_memory_per_block_optin", 2**20)


def from_scores(
    call: Call, plan: Plan, tile: Tile | None = None, parts: int | None = None
) -> tuple[Reduced, Tensor]:
    """Row features and output (b t h d); `parts` are the terms a weight is split into."""
    from headscope.statistics.kernels.survey_kernel import attend

    work = _work(call, plan, tile or tile_for(call), parts)
    batch, heads, queries, _ = work.tensors[0].shape
    span = documents_at_once(heads)
    for start in range(0, batch, span):
        some: tuple[Any, ...] = work.tensors
        if span < batch:
            some = tuple(tensor[start : start + span] for tensor in some)
        grid = (-(-queries // work.constants["BLOCK_M"]), len(some[0]) * heads)
        attend[grid](*some, *work.numbers, **work.constants)
    return work.reduced, work.output


@dataclass(frozen=True)
class _Work:
    """The kernel's inputs and outputs."""

    tensors: tuple[Tensor, ...]  # each of the whole batch
    numbers: tuple[Any, ...]
    constants: dict[str, Any]
    reduced: Reduced
    output: Tensor


def _work(call: Call, plan: Plan, tile: Tile, parts: int | None) -> _Work:
    q, k, v = (_unit_stride(tensor) for tensor in (call.q, call.k, call.v))
    batch, heads, queries, dim = q.shape
    groups, keys = k.shape[1], k.shape[2]
    layout = _layout(plan, tile.keys)
    output = torch.empty(batch, queries, heads, dim, dtype=v.dtype, device=v.device)
    reduced = Reduced(plan, batch, heads, queries)
    rows = reduced.values
    place = {name: number for number, name in enumerate(plan.names)}
    assert call.scaling is not None
    tensors = (
        q, k, v, layout.columns, layout.query_ids, layout.key_ids, layout.first, layout.end,
        output, rows,
    )  # fmt: skip
    numbers = (
        q.stride(0), q.stride(1), q.stride(2),
        k.stride(0), k.stride(1), k.stride(2),
        v.stride(0), v.stride(1), v.stride(2),
        output.stride(0), output.stride(1), output.stride(2),
        rows.stride(0), rows.stride(1), rows.stride(2),
        heads, heads // groups, queries, keys, plan.grid.offset,
        call.scaling * 1.4426950408889634, call.window or 0,
    )  # fmt: skip
    constants = {
        "FEATURES": len(plan.keys),
        "ENTROPY": place.get("entropy", -1), "LARGEST": place.get("largest", -1),
        "SELF": place.get("self", -1), "PREVIOUS": place.get("previous", -1),
        "NEXT": place.get("next", -1),
        "DISTANCE": place.get("distance", -1),
        "DISTANCE_SQUARED": place.get("distance_squared", -1),
        "SAME": place.get("same_token", -1), "SAME_OTHER": place.get("same_token_other", -1),
        "CAUSAL": call.causal and call.kind != "cross", "WINDOW": call.window is not None,
        "LEADING": call.window is not None or plan.grid.left_padded,
        "DIM": dim, "BLOCK_M": tile.queries, "BLOCK_N": tile.keys,
        "PRECISION": "ieee" if q.dtype == torch.float32 else "tf32",
        "PARTS": parts or (1 if q.dtype == torch.bfloat16 else 2),
        "num_warps": tile.warps, "num_stages": tile.stages, "maxnreg": tile.registers,
        "enable_fp_fusion": True,
    }  # fmt: skip
    return _Work(tensors, numbers, constants, reduced, output)


@dataclass(frozen=True)
class _Layout:
    """The kernel's inputs from a batch's tokens; made once for all layers."""

    columns: Tensor  # b s 16 float16
    query_ids: Tensor  # b t int32: twice the token id plus its sentence, negative for specials
    key_ids: Tensor  # b s int32
    first: Tensor  # b int32: the first real key
    end: Tensor  # b int32: the position after the last real key


_layouts: WeakKeyDictionary[Plan, dict[int, _Layout]] = WeakKeyDictionary()


def _layout(plan: Plan, block: int) -> _Layout:
    made = _layouts.setdefault(plan, {})
    if block not in made:
        made[block] = _make_layout(plan, block)
    return made[block]


def _make_layout(plan: Plan, block: int) -> _Layout:
    grid = plan.grid
    batch, keys = grid.key.ids.shape
    device = grid.key.ids.device
    columns = torch.zeros(batch, keys, 16, dtype=torch.float16, device=device)
    if plan.keys:
        columns[..., : len(plan.keys)] = plan.key_columns()
    y = block - 1 - torch.arange(keys, device=device) % block  # up to the end of the key's block
    columns[..., KEY_FEATURES] = 1
    columns[..., KEY_FEATURES + 1] = y
    first = grid.key.start.to(torch.int32)
    return _Layout(
        columns,
        _ids(grid, "query"),
        _ids(grid, "key"),
        first,
        (first + grid.key.lengths).to(torch.int32),
    )


def _ids(grid: Grid, name: str) -> Tensor:
    side = grid.query if name == "query" else grid.key
    ids = (side.ids * 2 + side.segments.clamp_min(0)).to(torch.int32)
    # specials match nothing: the two sides carry different negative numbers
    return ids.masked_fill(side.classes < PUNCTUATION, -3 if name == "query" else -7).contiguous()


def _unit_stride(tensor: Tensor | None) -> Tensor:
    assert tensor is not None
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()
