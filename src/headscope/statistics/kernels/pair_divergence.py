"""The GPU kernel that compares all pairs of heads by the divergence of their rows, directly.

A logarithm is one instruction on a GPU (a library's takes twenty), so for every two heads
½ Σ s ln s of the sum s of their weights is summed directly, tile of heads by tile of heads. With m
the mean, that is Σ m ln m and ½ ln 2 Σ s, which divergences do not see: a head with itself, on the
diagonal, has it as well, with the same rounding.
"""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportAssignmentType=false
from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from headscope.statistics.kernels.row_features import logarithm
from headscope.statistics.kernels.usable import Disagreement, has_logarithm, wrong

HEADS = 8  # of a tile
WEIGHTS = 64  # of every head, looked at together
STRETCH = 8192  # weights of every head that one program sums in single precision
SOME = (32, 256)  # heads and weights that are summed both ways when a version is first used
APART = 1e-4  # of the largest sum: far above rounding, far below a wrong pair or place

_compared: set[tuple[object, ...]] = set()


# of the count it is told whether 16 divides it, for then weights are read four at a time
@triton.jit(do_not_specialize=["heads"])
def _information(
    maps_ptr, sums_ptr, heads, count,
    HEADS: tl.constexpr, WEIGHTS: tl.constexpr, STRETCH: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Σ s log2 s of a tile of heads with another, over one stretch of weights."""
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
        both = a[:, None, :] + b[None, :, :]
        summed += both * logarithm(tl.maximum(both, 1.0e-30), FAST)
    found = tl.sum(summed, 2)
    base = sums_ptr + part.to(tl.int64) * heads * heads
    inside = (first < heads)[:, None] & (second < heads)[None, :]
    tl.store(base + first[:, None] * heads + second[None, :], found, mask=inside)


def pair_information(maps: Tensor) -> Tensor:
    """heads × heads float64: ½ Σ s ln s over weights heads × n, s the sum of two heads' weights."""
    maps = maps.contiguous()
    version = (maps.shape[1] % 16 == 0, maps.device)
    if version not in _compared:
        _compare(maps)
        _compared.add(version)
    return _summed(maps)


def _summed(maps: Tensor) -> Tensor:
    heads, count = maps.shape
    parts = -(-count // STRETCH)
    tiles = -(-heads // HEADS)
    sums = torch.zeros(parts, heads, heads, device=maps.device)
    _information[(tiles * tiles * parts,)](maps, sums, heads, count, **_constants())
    upper = sums.sum(0, dtype=torch.float64).triu() * (0.6931471805599453 / 2)
    return upper + upper.triu(1).T


def _compare(maps: Tensor) -> None:
    """Raise where a few heads' first weights are not summed as in double precision."""
    heads, count = SOME
    last = min(count, maps.shape[1] // 16 * 16) or maps.shape[1]
    few = maps[:heads, : last if maps.shape[1] % 16 == 0 else last - 1 or 1].contiguous()
    both = few[:, None].double() + few[None].double()
    plain = torch.special.xlogy(both, both).sum(-1) / 2
    if bool(wrong(_summed(few), plain, torch.ones_like(plain, dtype=torch.bool), APART, 0.0).any()):
        raise Disagreement("divergences of heads are not those of their definition")


def compiled(device: torch.device, count: int) -> Any:
    """Have the kernel compiled for counts that 16 divides, as it does this, or for the others."""
    some = torch.empty(1, 1, device=device)
    return _information.warmup(some, some, 1, count, grid=(1,), **_constants())


def _constants() -> dict[str, Any]:
    tile = {"HEADS": HEADS, "WEIGHTS": WEIGHTS, "STRETCH": STRETCH, "FAST": has_logarithm()}
    return {**tile, "num_warps": 4, "enable_fp_fusion": True}
