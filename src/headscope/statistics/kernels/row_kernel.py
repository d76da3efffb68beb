"""The GPU kernel of an atlas: all features of whole rows of weights in one pass.

- keys and pairs of tokens: relations are bits of one number per pair, the same for all heads and
  layers; a feature is the sum of the weights, or of their squares, under its bit;
- uniformity within the query's own part of the text, and its null under permutation;
- rank correlations: one sort of a row serves every relation. Weights are sorted with their
  positions in lower bits, so that ties keep their order, and the relations' ranks below these; a
  weight's own rank within a pool is the number of pool members before it.

Rows that have a slot are also stored whole, for comparing heads. A row's results are gathered and
stored together, because every store makes all threads of a tile wait.
"""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportAssignmentType=false
# pyright: reportGeneralTypeIssues=false, reportCallIssue=false, reportAttributeAccessIssue=false
from __future__ import annotations

import triton
import triton.language as tl

LN2 = tl.constexpr(0.6931471805599453)
OWN = tl.constexpr(30)  # the bit of keys in the query's own part of the text
NO_RANK = tl.constexpr(-1024)  # of a key outside a relation's pool; a rank has 11 bits
NO_RANKS = tl.constexpr(1024 | 1024 << 11)  # the same for two relations in one number


@triton.jit
def logarithm(x, FAST: tl.constexpr):
    """log2 of a normal number by one hardware instruction, to 2⁻²² (relative beyond ½ … 2); the
    library's takes some twenty."""
    if FAST:
        return tl.inline_asm_elementwise(
            "lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    return tl.math.log2(x)


@triton.jit
def _put(found, value, place, AT: tl.constexpr):
    """Each row's results, with one more value."""
    return tl.where((place == AT)[None, :], value[:, None], found)


@triton.jit
def _correlation(rank, before, n, least, greatest):
    """Spearman's ρ of every row, from the sorted ranks and how many of the pool lie before."""
    inside = rank != NO_RANK
    met = tl.sum(tl.where(inside, before.to(tl.float32) * rank.to(tl.float32), 0.0), 1) * 0.5
    most = n * (n * n - 1) / 12
    return tl.where((most > 0) & (least < greatest), met / tl.maximum(most, 1.0e-30), 0.0)


@triton.jit
def _rank_rows(
    found, place, weights, key, row, real, ranks_base, keys,
    RANK: tl.constexpr, SECOND_RANK: tl.constexpr,
):  # fmt: skip
    """Rank correlations of the rows of a tile with one or two relations."""
    at = ranks_base + row[:, None].to(tl.int64) * keys
    inside = real[:, None] & (key < keys)[None, :]
    plain = tl.load(at + key[None, :], mask=inside, other=NO_RANKS)
    bits = weights.to(tl.int32, bitcast=True)
    held = (bits.to(tl.int64) << 32) | ((key[None, :] << 22) | plain).to(tl.int64)
    met = (tl.sort(held, 1) & 0x7FFFFFFF).to(tl.int32)
    first = (met << 21) >> 21
    second = (met << 10) >> 21
    counted = (first != NO_RANK).to(tl.int32)
    if SECOND_RANK >= 0:
        counted += (second != NO_RANK).to(tl.int32) << 16
    before = tl.cumsum(counted, 1) - counted
    n = tl.sum(counted, 1)
    pool = ((plain << 21) >> 21) != NO_RANK
    least = tl.min(tl.where(pool, weights, 2.0), 1)
    greatest = tl.max(tl.where(pool, weights, -1.0), 1)
    one = _correlation(first, before & 0xFFFF, (n & 0xFFFF).to(tl.float32), least, greatest)
    found = _put(found, one, place, RANK)
    if SECOND_RANK >= 0:
        pool = ((plain << 10) >> 21) != NO_RANK
        least = tl.min(tl.where(pool, weights, 2.0), 1)
        greatest = tl.max(tl.where(pool, weights, -1.0), 1)
        one = _correlation(second, before >> 16, (n >> 16).to(tl.float32), least, greatest)
        found = _put(found, one, place, SECOND_RANK)
    return found


@triton.jit
def _evenness(weights, surprised, surprise, own, there, wide_base, row, real, FAST: tl.constexpr):
    """m·H/ln|S| of every row with S its own part, and its mean and variance over permutations;
    `there` is the number of keys it can choose from.

    All three are 0 if the own part is the whole text, as in the plain kernel.
    """
    size = tl.sum(own.to(tl.int32), 1).to(tl.float32)
    chooses = size < there
    size = tl.maximum(size, 2.0)
    choice = tl.maximum(there, 2.0)
    norm = tl.where(chooses, logarithm(size, FAST) * LN2, float("inf"))
    mass = tl.sum(tl.where(own, weights, 0.0), 1)
    score = tl.sum(tl.where(own, surprised, 0.0), 1)
    score += mass * logarithm(tl.maximum(mass, 1.0e-30), FAST) * LN2
    total = tl.sum(weights, 1)
    mean = tl.maximum(total * size / choice, 1.0e-30)
    log_mean = logarithm(mean, FAST) * LN2
    factor = size * (choice - size) / (choice * (choice - 1))
    spread = tl.maximum(tl.sum(weights * weights, 1) - total * total / choice, 0.0)
    null = surprise * size / choice + mean * log_mean + factor * spread / (2 * mean)
    slope = surprised + (1 + log_mean)[:, None] * weights
    summed = surprise + (1 + log_mean) * total
    bend = tl.maximum(tl.sum(slope * slope, 1) - summed * summed / choice, 0.0)
    part = tl.arange(0, 4)
    three = (score / norm)[:, None] + tl.zeros([1, 4], tl.float32)
    three = _put(three, null / norm, part, 1)
    three = _put(three, factor * bend / (norm * norm), part, 2)
    tl.store(
        wide_base + row[:, None] * 3 + part[None, :],
        three, mask=real[:, None] & (part < 3)[None, :],
    )  # fmt: skip


@triton.jit
def _copy_at(whole_base, rows_base, row, offset, real, keys, stride_rf, AT: tl.constexpr):
    """The weight of the key `offset` positions after each query; 0 if there is none."""
    key = row + offset
    weight = tl.load(
        whole_base + row * keys + key, mask=real & (key >= 0) & (key < keys), other=0.0
    )
    tl.store(rows_base + AT * stride_rf + row, weight, mask=real)


# numbers that change from batch to batch, so that the kernel is not compiled for each. Whether 16
# divides the number of keys is compiled in, because rows are then read four weights at a time
OF_BATCH = ["stride_rb", "stride_rh", "stride_rf", "queries", "slots"]


@triton.jit(do_not_specialize=OF_BATCH)
def reduce_rows(
    whole_ptr, bits_ptr, ranks_ptr, first_ptr, end_ptr, slot_ptr,
    rows_ptr, wide_ptr, kept_ptr,
    stride_rb, stride_rh, stride_rf, heads, queries, keys, slots,
    FEATURES: tl.constexpr, MARKED: tl.constexpr,
    PAIRS: tl.constexpr, NOT_BITS: tl.constexpr,
    SQUARES: tl.constexpr, SQUARE_BITS: tl.constexpr,
    COUNT: tl.constexpr, PLACES: tl.constexpr,
    ENTROPY: tl.constexpr, LARGEST: tl.constexpr, STRONGEST: tl.constexpr,
    SELF: tl.constexpr, PREVIOUS: tl.constexpr, NEXT: tl.constexpr,
    DISTANCE: tl.constexpr, EVENNESS: tl.constexpr,
    RANK: tl.constexpr, SECOND_RANK: tl.constexpr,
    KEPT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Some queries of one head and all keys. Constants name a feature's row, or are -1; of COUNT
    features the first are of keys; so many are MARKED by bits (all, or none, made elsewhere)."""
    pair = tl.program_id(1)
    b = (pair // heads).to(tl.int64)
    h = (pair % heads).to(tl.int64)
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    real = row < queries
    key = tl.arange(0, BLOCK_N)
    there = real[:, None] & (key < keys)[None, :]
    whole_base = whole_ptr + (b * heads + h) * queries * keys
    weights = tl.load(whole_base + row[:, None] * keys + key[None, :], mask=there, other=0.0)
    rows_base = rows_ptr + b * stride_rb + h * stride_rh
    if KEPT:
        slot = tl.load(slot_ptr + b * queries + row, mask=real, other=-1).to(tl.int64)
        tl.store(
            kept_ptr + (h * slots + slot[:, None]) * keys + key[None, :],
            weights, mask=(slot >= 0)[:, None] & there,
        )  # fmt: skip
    place = tl.arange(0, PLACES)
    found = tl.zeros([BLOCK_M, PLACES], tl.float32)
    if (PAIRS > 0) or EVENNESS or (MARKED > 0):
        bits = tl.load(
            bits_ptr + (b * queries + row[:, None]) * keys + key[None, :], mask=there, other=0
        )
        for n in tl.static_range(MARKED):
            under = tl.sum(tl.where((bits & (1 << (PAIRS + n))) != 0, weights, 0.0), 1)
            found = _put(found, under, place, n)
        for n in tl.static_range(PAIRS):
            if ((NOT_BITS >> n) & 1) == 0:
                under = tl.sum(tl.where((bits & (1 << n)) != 0, weights, 0.0), 1)
                found = _put(found, under, place, FEATURES + n)
        for n in tl.static_range(SQUARES):
            marked = (bits & (1 << ((SQUARE_BITS >> (5 * n)) & 31))) != 0
            under = tl.sum(tl.where(marked, weights * weights, 0.0), 1)
            found = _put(found, under, place, FEATURES + PAIRS + n)
    if DISTANCE >= 0:
        far = tl.abs(key[None, :] - row[:, None]).to(tl.float32)
        found = _put(found, tl.sum(weights * far, 1), place, DISTANCE)
    if SELF >= 0:
        _copy_at(whole_base, rows_base, row, 0, real, keys, stride_rf, SELF)
    if PREVIOUS >= 0:
        _copy_at(whole_base, rows_base, row, -1, real, keys, stride_rf, PREVIOUS)
    if NEXT >= 0:
        _copy_at(whole_base, rows_base, row, 1, real, keys, stride_rf, NEXT)
    if (LARGEST >= 0) or (STRONGEST >= 0):
        largest = tl.max(weights, 1)
        if LARGEST >= 0:
            found = _put(found, largest, place, LARGEST)
        if STRONGEST >= 0:  # the first of equal weights
            first = tl.min(tl.where(weights == largest[:, None], key[None, :], BLOCK_N), 1)
            found = _put(found, first.to(tl.float32), place, STRONGEST)
    if (ENTROPY >= 0) or EVENNESS:
        logs = logarithm(tl.maximum(weights, 1.1754943508222875e-38), FAST)
        surprised = -weights * logs * LN2
        surprise = tl.sum(surprised, 1)
        if ENTROPY >= 0:
            found = _put(found, surprise, place, ENTROPY)
        if EVENNESS:
            choice = (tl.load(end_ptr + b) - tl.load(first_ptr + b)).to(tl.float32)
            own = ((bits >> OWN) & 1) != 0
            wide_base = wide_ptr + (b * heads + h) * queries * 3
            _evenness(weights, surprised, surprise, own, choice, wide_base, row, real, FAST)
    if RANK >= 0:
        found = _rank_rows(
            found, place, weights, key, row, real, ranks_ptr + b * queries * keys, keys,
            RANK, SECOND_RANK,
        )  # fmt: skip
    gathered = (place >= FEATURES - MARKED) & (place < COUNT)
    gathered = gathered & (place != SELF) & (place != PREVIOUS) & (place != NEXT)
    tl.store(
        rows_base + place[None, :] * stride_rf + row[:, None],
        found, mask=gathered[None, :] & real[:, None],
    )  # fmt: skip
