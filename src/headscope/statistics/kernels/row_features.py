"""The GPU kernel of an atlas that makes every feature of whole rows of weights in one look.

- pairs of tokens: what two tokens are to each other is a bit of one number per pair, the same for
  all heads and layers; a feature is the sum of the weights, or of their squares, under its bit;
- evenness within the query's own part of the text, and what dealing the weights out again gives;
- rank correlations: one sort of a row serves every relation. Weights are sorted with their places
  below them, so that ties keep the order of their places; the relations' ranks are read at the
  sorted places, and a weight's own rank within a pool is how many of the pool lie before it.

Rows that have a slot are stored once more, for what compares whole rows of heads.
"""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportAssignmentType=false
# pyright: reportGeneralTypeIssues=false, reportCallIssue=false, reportAttributeAccessIssue=false
from __future__ import annotations

import triton
import triton.language as tl

LN2 = tl.constexpr(0.6931471805599453)
OWN = tl.constexpr(30)  # the bit of keys in the query's own part of the text
NO_RANK = tl.constexpr(-32768)  # of a key outside a relation's pool
NO_RANKS = tl.constexpr(-2147450880)  # the same for two relations in one number


@triton.jit
def _correlation(rank, before, least, greatest):
    """Spearman's ρ of every row, from the sorted ranks and how many of the pool lie before."""
    inside = rank != NO_RANK
    n = tl.sum(inside.to(tl.float32), 1)
    met = tl.sum(tl.where(inside, before.to(tl.float32) * rank.to(tl.float32), 0.0), 1) * 0.5
    most = n * (n * n - 1) / 12
    return tl.where((most > 0) & (least < greatest), met / tl.maximum(most, 1.0e-30), 0.0)


@triton.jit
def _rank_rows(
    weights, key, row, real, ranks_base, rows_base, stride_rf, keys,
    RANK: tl.constexpr, SECOND_RANK: tl.constexpr,
):  # fmt: skip
    """Rank correlations of the rows of a tile with one or two relations."""
    at = ranks_base + row[:, None].to(tl.int64) * keys
    inside = real[:, None] & (key < keys)[None, :]
    plain = tl.load(at + key[None, :], mask=inside, other=NO_RANKS)
    bits = weights.to(tl.int32, bitcast=True)
    held = (bits.to(tl.int64) << 32) | key[None, :].to(tl.int64)
    place = (tl.sort(held, 1) & 0xFFFF).to(tl.int32)
    met = tl.load(at + place, mask=real[:, None] & (place < keys), other=NO_RANKS)
    first = (met << 16) >> 16
    second = met >> 16
    counted = (first != NO_RANK).to(tl.int32)
    if SECOND_RANK >= 0:
        counted += (second != NO_RANK).to(tl.int32) << 16
    before = tl.cumsum(counted, 1) - counted
    pool = ((plain << 16) >> 16) != NO_RANK
    least = tl.min(tl.where(pool, weights, 2.0), 1)
    greatest = tl.max(tl.where(pool, weights, -1.0), 1)
    found = _correlation(first, before & 0xFFFF, least, greatest)
    tl.store(rows_base + RANK * stride_rf + row, found, mask=real)
    if SECOND_RANK >= 0:
        pool = (plain >> 16) != NO_RANK
        least = tl.min(tl.where(pool, weights, 2.0), 1)
        greatest = tl.max(tl.where(pool, weights, -1.0), 1)
        found = _correlation(second, before >> 16, least, greatest)
        tl.store(rows_base + SECOND_RANK * stride_rf + row, found, mask=real)


@triton.jit
def _evenness(weights, surprised, own, seen, wide_base, row, real):
    """m·H/ln|S| of every row with S its own part, and its mean and variance over deals.

    All three are 0 where the own part is all there is, as the plain kernel has it.
    """
    size = tl.sum(own.to(tl.float32), 1)
    choice = tl.sum(seen.to(tl.float32), 1)
    chooses = size < choice
    size = tl.maximum(size, 2.0)
    choice = tl.maximum(choice, 2.0)
    norm = tl.where(chooses, tl.math.log2(size) * LN2, float("inf"))
    mass = tl.sum(tl.where(own, weights, 0.0), 1)
    score = tl.sum(tl.where(own, surprised, 0.0), 1)
    score += mass * tl.math.log2(tl.maximum(mass, 1.0e-30)) * LN2
    total = tl.sum(weights, 1)
    mean = tl.maximum(total * size / choice, 1.0e-30)
    log_mean = tl.math.log2(mean) * LN2
    factor = size * (choice - size) / (choice * (choice - 1))
    spread = tl.maximum(tl.sum(weights * weights, 1) - total * total / choice, 0.0)
    null = tl.sum(surprised, 1) * size / choice + mean * log_mean + factor * spread / (2 * mean)
    slope = surprised + (1 + log_mean)[:, None] * weights
    summed = tl.sum(slope, 1)
    bend = tl.maximum(tl.sum(slope * slope, 1) - summed * summed / choice, 0.0)
    tl.store(wide_base + row * 3, score / norm, mask=real)
    tl.store(wide_base + row * 3 + 1, null / norm, mask=real)
    tl.store(wide_base + row * 3 + 2, factor * bend / (norm * norm), mask=real)


# numbers that change from batch to batch: the kernel is not compiled again for each of them. Of the
# number of keys it is told whether 16 divides it, for then rows are read four weights at a time
OF_BATCH = ["stride_rb", "stride_rh", "stride_rf", "queries", "slots"]


@triton.jit(do_not_specialize=OF_BATCH)
def reduce_rows(
    whole_ptr, bits_ptr, ranks_ptr, first_ptr, end_ptr, slot_ptr,
    rows_ptr, wide_ptr, kept_ptr,
    stride_rb, stride_rh, stride_rf, heads, queries, keys, slots,
    FEATURES: tl.constexpr, PAIRS: tl.constexpr, NOT_BITS: tl.constexpr,
    SQUARES: tl.constexpr, SQUARE_BITS: tl.constexpr,
    ENTROPY: tl.constexpr, LARGEST: tl.constexpr, STRONGEST: tl.constexpr,
    SELF: tl.constexpr, PREVIOUS: tl.constexpr, NEXT: tl.constexpr,
    DISTANCE: tl.constexpr, EVENNESS: tl.constexpr,
    RANK: tl.constexpr, SECOND_RANK: tl.constexpr,
    KEPT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Some queries of one head and all keys. Constants name a feature's row, or are -1."""
    pair = tl.program_id(1)
    b = (pair // heads).to(tl.int64)
    h = (pair % heads).to(tl.int64)
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    real = row < queries
    key = tl.arange(0, BLOCK_N)
    there = real[:, None] & (key < keys)[None, :]
    weights = tl.load(
        whole_ptr + ((b * heads + h) * queries + row[:, None]) * keys + key[None, :],
        mask=there, other=0.0,
    )  # fmt: skip
    rows_base = rows_ptr + b * stride_rb + h * stride_rh
    if KEPT:
        slot = tl.load(slot_ptr + b * queries + row, mask=real, other=-1).to(tl.int64)
        tl.store(
            kept_ptr + (h * slots + slot[:, None]) * keys + key[None, :],
            weights, mask=(slot >= 0)[:, None] & there,
        )  # fmt: skip
    if (PAIRS > 0) or EVENNESS:
        bits = tl.load(
            bits_ptr + (b * queries + row[:, None]) * keys + key[None, :], mask=there, other=0
        )
        for n in tl.static_range(PAIRS):
            if ((NOT_BITS >> n) & 1) == 0:
                under = tl.sum(tl.where((bits & (1 << n)) != 0, weights, 0.0), 1)
                tl.store(rows_base + (FEATURES + n) * stride_rf + row, under, mask=real)
        for n in tl.static_range(SQUARES):
            marked = (bits & (1 << ((SQUARE_BITS >> (5 * n)) & 31))) != 0
            under = tl.sum(tl.where(marked, weights * weights, 0.0), 1)
            tl.store(rows_base + (FEATURES + PAIRS + n) * stride_rf + row, under, mask=real)
    away = key[None, :] - row[:, None]
    if DISTANCE >= 0:
        far = tl.abs(away).to(tl.float32)
        tl.store(rows_base + DISTANCE * stride_rf + row, tl.sum(weights * far, 1), mask=real)
    if SELF >= 0:
        found = tl.sum(tl.where(away == 0, weights, 0.0), 1)
        tl.store(rows_base + SELF * stride_rf + row, found, mask=real)
    if PREVIOUS >= 0:
        found = tl.sum(tl.where(away == -1, weights, 0.0), 1)
        tl.store(rows_base + PREVIOUS * stride_rf + row, found, mask=real)
    if NEXT >= 0:
        found = tl.sum(tl.where(away == 1, weights, 0.0), 1)
        tl.store(rows_base + NEXT * stride_rf + row, found, mask=real)
    if (LARGEST >= 0) or (STRONGEST >= 0):
        largest = tl.max(weights, 1)
        if LARGEST >= 0:
            tl.store(rows_base + LARGEST * stride_rf + row, largest, mask=real)
        if STRONGEST >= 0:  # of equal weights the first
            found = tl.min(tl.where(weights == largest[:, None], key[None, :], BLOCK_N), 1)
            tl.store(rows_base + STRONGEST * stride_rf + row, found.to(tl.float32), mask=real)
    if (ENTROPY >= 0) or EVENNESS:
        surprised = -weights * tl.math.log2(tl.maximum(weights, 1.1754943508222875e-38)) * LN2
        if ENTROPY >= 0:
            tl.store(rows_base + ENTROPY * stride_rf + row, tl.sum(surprised, 1), mask=real)
        if EVENNESS:
            seen = (key >= tl.load(first_ptr + b)) & (key < tl.load(end_ptr + b))
            seen = seen[None, :] & real[:, None]
            own = ((bits >> OWN) & 1) != 0
            wide_base = wide_ptr + (b * heads + h) * queries * 3
            _evenness(weights, surprised, own, seen, wide_base, row, real)
    if RANK >= 0:
        _rank_rows(
            weights, key, row, real, ranks_ptr + b * queries * keys, rows_base, stride_rf, keys,
            RANK, SECOND_RANK,
        )  # fmt: skip
