"""Jensen–Shannon divergence between the rows of all pairs of heads, as one matrix product.

Written directly, N heads need N²/2 logarithms for every weight. But for two weights a and b

    ½ (a ln a + b ln b) − m ln m  =  ½ ln 2 (a + b) − √(ab) κ(ln a − ln b),   m = (a + b) / 2,

with a smooth, quickly falling κ (the homogeneous kernels of Vedaldi & Zisserman 2012). On the range
that smoothed weights can have, κ(u − v) is a sum of a few products θ(u) θ(v), to a few
millionths. So every weight becomes a vector of some fifteen numbers, √a θ_r(ln a), and the
divergences of all pairs of heads are their inner products. The θ_r are the leading eigenfunctions
of κ, evaluated as Chebyshev series in ln a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SMOOTHING = 0.001  # share of a row spread over all its keys, as the published code does
TOLERANCE = 5e-6  # of a divergence, per unit of a + b
NODES = 256
SPAN = 2**15  # weights of all heads processed at once: their vectors fit a processor's cache
SPAN_GPU = 2**24  # … or fill a GPU, whose many processors share few large steps


def divergences(maps: Tensor, lengths: int | Tensor) -> NDArray[np.float64]:
    """heads × heads: Σ over rows of JS(a, b) in nats, for maps heads × rows × length.

    `lengths` is each row's number of keys; values beyond are 0 and stay 0.
    """
    return divergence_sums(maps, lengths).cpu().numpy()


def divergence_sums(maps: Tensor, lengths: int | Tensor) -> Tensor:
    """The same in float64 on the maps' device, without waiting."""
    if isinstance(lengths, int):
        smooth, length = maps.float() * (1 - SMOOTHING) + SMOOTHING / lengths, lengths
    else:
        length = maps.shape[2]
        there = torch.arange(length, device=maps.device) < lengths[:, None]  # rows length
        smooth = maps.float() * (1 - SMOOTHING) + there * (SMOOTHING / lengths)[:, None]
    smooth = smooth.reshape(len(maps), -1)
    mass = smooth.sum(1, dtype=torch.float64)
    likeness = _likeness(smooth, length)
    result = math.log(2) / 2 * (mass[:, None] + mass[None, :]) - likeness
    result.fill_diagonal_(0.0)
    return result.clamp_min(0)


def row_divergence(a: Tensor, b: Tensor) -> Tensor:
    """JS(a, b) in nats of every pair of rows (the last axis), by its definition; at most ln 2."""

    def information(weights: Tensor) -> Tensor:
        return torch.special.xlogy(weights, weights).sum(dim=-1)

    return (information(a) + information(b)) / 2 - information((a + b) / 2)


def _likeness(smooth: Tensor, length: int) -> Tensor:
    """heads × heads float64: Σ √(ab) κ(ln a − ln b) over weights heads × n."""
    heads = len(smooth)
    basis = _basis(math.ceil(math.log2(max(length, 2))))
    span = max(64, (SPAN_GPU if smooth.is_cuda else SPAN) // heads)
    spans = smooth.split(min(span, smooth.shape[1]), dim=1)
    before = torch.get_num_threads()
    threads = 1 if smooth.is_cuda else min(before, len(spans))
    if threads == 1:
        return _summed(spans, basis)
    # a thread per part, because many small parallel steps would wait for each other
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads) as pool:
            parts = [spans[n::threads] for n in range(threads)]
            return torch.stack(list(pool.map(partial(_summed, basis=basis), parts))).sum(0)
    finally:
        torch.set_num_threads(before)


def _summed(spans: Sequence[Tensor], basis: _Basis) -> Tensor:
    """The sum over spans in double precision, with shared working memory."""
    first = spans[0]
    room = torch.empty(basis.coefficients.shape[1], first.numel(), device=first.device)
    total = torch.zeros(len(first), len(first), dtype=torch.float64, device=first.device)
    for span in spans:
        total += _inner(basis.vectors(span, room))
    return total


def _inner(vectors: Tensor) -> Tensor:
    """heads × heads inner products; the lower left block is the transposed upper right one."""
    heads = vectors.shape[1]
    half = heads // 2
    first, second = vectors[:, :half], vectors[:, half:]
    result = torch.empty(heads, heads, device=vectors.device)
    result[:half, :half] = torch.bmm(first, first.transpose(1, 2)).sum(0)
    result[half:, half:] = torch.bmm(second, second.transpose(1, 2)).sum(0)
    across = torch.bmm(first, second.transpose(1, 2)).sum(0)
    result[:half, half:], result[half:, :half] = across, across.T
    return result


@dataclass(frozen=True)
class _Basis:
    """Eigenfunctions of κ on ln a ∈ [low, 0], as Chebyshev series with alternating signs."""

    low: float
    coefficients: Tensor  # r p

    def vectors(self, weights: Tensor, room: Tensor) -> Tensor:
        """r heads n: √a θ_r(ln a) of weights heads × n; `room` is memory to work in."""
        terms = self.coefficients.shape[1]
        twice = weights.log().mul_(-4 / self.low).add_(2.0)  # 2x, with x from -1 to 1
        twice.clamp_(-2.0, 2.0)  # a weight of 1 may be rounded up
        series = room[:, : weights.numel()].view(terms, *weights.shape)
        torch.sqrt(weights, out=series[0])
        torch.mul(series[0], twice, out=series[1]).mul_(0.5)
        # T_(p+1) = 2x T_p − T_(p−1); with signs + + − − + + … it is one fused step a term
        for p in range(1, terms - 1):
            sign = _sign(p + 1) / _sign(p)
            torch.addcmul(series[p - 1], twice, series[p], value=sign, out=series[p + 1])
        flat = self.coefficients.to(weights.device) @ room[:, : weights.numel()]
        return flat.view(-1, *weights.shape)


def _sign(p: int) -> float:
    return -1.0 if p % 4 >= 2 else 1.0


def kappa(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """κ(x) = ½x e^(−x/2) + cosh(x/2) ln(1 + e^(−x)) for x ≥ 0, and even."""
    half = np.abs(x) / 2
    return half * np.exp(-half) + np.cosh(half) * np.log1p(np.exp(-2 * half))


@cache
def _basis(octave: int) -> _Basis:
    """The basis for rows of up to 2^octave keys: smoothed weights from 0.001 / 2^octave on."""
    low = math.log(SMOOTHING) - octave * math.log(2)
    angles = np.pi * (np.arange(NODES) + 0.5) / NODES
    u = low / 2 - low / 2 * np.cos(angles)
    apart = u[:, None] - u[None, :]
    exact = kappa(apart)
    values, functions = np.linalg.eigh(exact)
    values, functions = values[::-1], functions[:, ::-1]
    scale = 2 * np.cosh(apart / 2)  # (a + b) / √(ab): an error counts against a + b
    rank = 4
    while rank < 40:
        near = (functions[:, :rank] * values[:rank]) @ functions[:, :rank].T
        if np.abs((near - exact) / scale).max() < TOLERANCE:
            break
        rank += 1
    theta = functions[:, :rank] * np.sqrt(values[:rank])  # nodes r
    cosines = np.cos(np.arange(NODES)[:, None] * angles[None, :])
    series = cosines @ theta * (2 / NODES)  # p r
    series[0] /= 2
    large = np.abs(series).max(axis=1) > TOLERANCE / 20
    terms = int(np.flatnonzero(large)[-1]) + 1
    signs = np.array([_sign(p) for p in range(terms)])
    coefficients = (series[:terms] * signs[:, None]).T
    return _Basis(low, torch.tensor(coefficients.copy(), dtype=torch.float32))
