"""The GPU kernel that compares all pairs of heads by the divergence of their rows, directly.

A logarithm is one instruction on a GPU, so for every two heads Σ m ln m of the mean m of their
weights is summed as it is defined, tile of heads by tile of heads. The mean of a head with itself
is the head: the diagonal gives Σ a ln a, with the same rounding.
"""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportAssignmentType=false
from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

HEADS = 8  # of a tile
WEIGHTS = 64  # of every head, looked at together
STRETCH = 8192  # weights of every head that one program sums in single precision


# of the count it is told whether 16 divides it, for then weights are read four at a time
@triton.jit(do_not_specialize=["heads"])
def _information(
    maps_ptr, sums_ptr, heads, count,
    HEADS: tl.constexpr, WEIGHTS: tl.constexpr, STRETCH: tl.constexpr,
):  # fmt: skip
    """Σ m log2 m of a tile of heads with another, over one stretch of weights."""
    tiles = tl.cdiv(heads, HEADS)
    one = tl.program_id(0) % tiles
    other = tl.program_id(0) // tiles % tiles
    part = tl.program_id(0) // (tiles * tiles)
    if other < one:  # the same pairs the other way round
        return
    first = one * HEADS + tl.arange(0, HEADS)
    second = other * HEADS + tl.arange(0, HEADS)
    start = part.to(tl.int64) * STRETCH
    length = tl.minimum(count - start, STRETCH).to(tl.int32)
    summed = tl.zeros([HEADS, HEADS, WEIGHTS], tl.float32)
    for step in range(0, length, WEIGHTS):
        at = start + step + tl.arange(0, WEIGHTS)
        inside = at < count
        a = tl.load(
            maps_ptr + first[:, None].to(tl.int64) * count + at[None, :],
            mask=(first < heads)[:, None] & inside[None, :], other=0.0,
        )  # fmt: skip
        b = tl.load(
            maps_ptr + second[:, None].to(tl.int64) * count + at[None, :],
            mask=(second < heads)[:, None] & inside[None, :], other=0.0,
        )  # fmt: skip
        mean = (a[:, None, :] + b[None, :, :]) * 0.5
        summed += mean * tl.math.log2(tl.maximum(mean, 1.0e-30))
    found = tl.sum(summed, 2)
    base = sums_ptr + part.to(tl.int64) * heads * heads
    inside = (first < heads)[:, None] & (second < heads)[None, :]
    tl.store(base + first[:, None] * heads + second[None, :], found, mask=inside)


def mean_information(maps: Tensor) -> Tensor:
    """heads × heads float64: Σ m ln m over weights heads × n, m the mean of two heads' weights."""
    maps = maps.contiguous()
    heads, count = maps.shape
    parts = -(-count // STRETCH)
    tiles = -(-heads // HEADS)
    sums = torch.zeros(parts, heads, heads, device=maps.device)
    _information[(tiles * tiles * parts,)](maps, sums, heads, count, **_constants())
    upper = sums.sum(0, dtype=torch.float64).triu() * 0.6931471805599453
    return upper + upper.triu(1).T


def compiled(device: torch.device, count: int) -> Any:
    """Have the kernel compiled for counts that 16 divides, as it does this, or for the others."""
    some = torch.empty(1, 1, device=device)
    return _information.warmup(some, some, 1, count, grid=(1,), **_constants())


def _constants() -> dict[str, int]:
    tile = {"HEADS": HEADS, "WEIGHTS": WEIGHTS, "STRETCH": STRETCH}
    return {**tile, "num_warps": 4, "enable_fp_fusion": True}
