"""The GPU kernel: output and row features in one pass over the keys, with no queries × keys matrix.

For a tile of queries it passes over blocks of keys with a running softmax, like flash attention,
and beside the output accumulates what the features need:

- key columns: p times a matrix of sixteen columns, on the tensor cores. p goes in as two
  half-precision terms (p = high + low, exact to 2⁻²²), or, for models in bfloat16, as the first
  alone, which is rounded sixteen times finer than the weights such a model itself uses;
- entropy: ln Σ exp(s) − Σ p·s, from one more running sum;
- the largest weight: exp(max − lse), which is 1 / Σ exp(s − max);
- self, previous, next: one dot product per query after the loop, not a comparison per pair;
- distance: a column holds a key's distance to the end of its block, and passed blocks count in
  steps; a sum per pair if a block contains the query, or both directions;
- same token: a comparison of token ids per pair.

Scores are kept in base 2, because exp2 is the instruction the hardware has.
"""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportAssignmentType=false
from __future__ import annotations

import triton
import triton.language as tl

HIDDEN = tl.constexpr(-1.0e30)  # finite, so that 0 · HIDDEN is 0; exp2 of it is 0
COLUMNS = tl.constexpr(16)  # the narrowest matrix a tensor core multiplies
ONES = tl.constexpr(14)  # columns 0 … 13 are features; then 1 …
WITHIN = tl.constexpr(15)  # … and a key's distance to the end of its block


@triton.jit
def _walk(
    low,
    high,
    q,
    query,
    k_base,
    v_base,
    f_base,
    key_id_base,
    stride_ks,
    stride_vs,
    query_id,
    query_other,
    first_key,
    end_key,
    most,
    total,
    mixed,
    columns,
    scored,
    far,
    farther,
    same,
    same_other,
    scale,
    window,
    MASKED: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
    DISTANCE: tl.constexpr,
    DISTANCE_SQUARED: tl.constexpr,
    STEPPED: tl.constexpr,
    SAME: tl.constexpr,
    SAME_OTHER: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK_N: tl.constexpr,
    PRECISION: tl.constexpr,
    PARTS: tl.constexpr,
):
    d = tl.arange(0, DIM)
    place = tl.arange(0, COLUMNS)[None, :]
    for start in range(low, high, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        key = start + tl.arange(0, BLOCK_N)
        if MASKED:
            inside = (key >= first_key) & (key < end_key)
            k = tl.load(
                k_base + key[None, :] * stride_ks + d[:, None], mask=inside[None, :], other=0.0
            )
        else:
            k = tl.load(k_base + key[None, :] * stride_ks + d[:, None])
        score = tl.dot(q, k, input_precision=PRECISION)  # times scale below, where it costs nothing
        if MASKED:
            seen = inside[None, :]
            if CAUSAL:
                seen = seen & (key[None, :] <= query[:, None])
            if WINDOW:
                seen = seen & (query[:, None] - key[None, :] < window)
            score = tl.where(seen, score, HIDDEN)
        higher = tl.maximum(most, tl.max(score, 1) * scale)
        shrink = tl.math.exp2(most - higher)
        p = tl.math.exp2(score * scale - higher[:, None])
        if MASKED:
            p = tl.where(seen, p, 0.0)
        most = higher
        if MASKED:
            v = tl.load(
                v_base + key[:, None] * stride_vs + d[None, :], mask=inside[:, None], other=0.0
            )
            f = tl.load(
                f_base + key[:, None] * COLUMNS + place,
                mask=inside[:, None],
                other=0.0,
            )
        else:
            v = tl.load(v_base + key[:, None] * stride_vs + d[None, :])
            f = tl.load(f_base + key[:, None] * COLUMNS + place)
        mixed = mixed * shrink[:, None]
        columns = columns * shrink[:, None]
        p_high = p.to(tl.float16)
        columns = tl.dot(p_high, f, columns)
        if PARTS == 2:
            p_low = (p - p_high.to(tl.float32)).to(tl.float16)
            columns = tl.dot(p_low, f, columns)
        mixed = tl.dot(p.to(v.dtype), v, mixed, input_precision=PRECISION)
        if DISTANCE:
            if STEPPED:  # all earlier blocks are now one block further away
                far = (far + BLOCK_N * total) * shrink
            else:
                away = tl.abs(query.to(tl.float32)[:, None] - key.to(tl.float32)[None, :])
                reach = p * away
                far = far * shrink + tl.sum(reach, 1)
                if DISTANCE_SQUARED:
                    farther = farther * shrink + tl.sum(reach * away, 1)
        total = total * shrink + tl.sum(p, 1)
        scored = scored * shrink + tl.sum(p * score, 1)
        if SAME or SAME_OTHER:
            if MASKED:
                key_id = tl.load(key_id_base + key, mask=inside, other=-9)
            else:
                key_id = tl.load(key_id_base + key)
            if SAME:
                alike = (query_id[:, None] >> 1) == (key_id[None, :] >> 1)
                same = same * shrink + tl.sum(tl.where(alike, p, 0.0), 1)
            if SAME_OTHER:
                alike = query_other[:, None] == key_id[None, :]
                same_other = same_other * shrink + tl.sum(tl.where(alike, p, 0.0), 1)
    return most, total, mixed, columns, scored, far, farther, same, same_other


@triton.jit
def _at(
    q, query, offset, k_base, stride_ks, first_key, end_key, most, total, scale, window,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """The weight from each query to the key `offset` positions after it; 0 if it sees none."""
    d = tl.arange(0, DIM)
    key = query + offset
    seen = (key >= first_key) & (key < end_key)
    if CAUSAL:
        seen = seen & (key <= query)
    if WINDOW:
        seen = seen & (query - key < window)
    k = tl.load(k_base + key[:, None] * stride_ks + d[None, :], mask=seen[:, None], other=0.0)
    score = tl.sum(q.to(tl.float32) * k.to(tl.float32), 1) * scale
    return tl.where(seen, tl.math.exp2(score - most) / total, 0.0)


# numbers that change with the width of a batch, so that the kernel is not compiled for each
OF_WIDTH = ["stride_rb", "stride_rh", "stride_rf", "queries", "keys", "offset"]


@triton.jit(do_not_specialize=OF_WIDTH)
def attend(
    q_ptr, k_ptr, v_ptr, f_ptr, query_id_ptr, key_id_ptr, first_ptr, end_ptr, out_ptr, rows_ptr,
    stride_qb, stride_qh, stride_qt,
    stride_kb, stride_kg, stride_ks,
    stride_vb, stride_vg, stride_vs,
    stride_ob, stride_ot, stride_oh,
    stride_rb, stride_rh, stride_rf,
    heads, group, queries, keys, offset, scale, window,
    FEATURES: tl.constexpr,
    ENTROPY: tl.constexpr, LARGEST: tl.constexpr,
    SELF: tl.constexpr, PREVIOUS: tl.constexpr, NEXT: tl.constexpr,
    DISTANCE: tl.constexpr, DISTANCE_SQUARED: tl.constexpr,
    SAME: tl.constexpr, SAME_OTHER: tl.constexpr,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, LEADING: tl.constexpr,
    DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr,
    PARTS: tl.constexpr,
):  # fmt: skip
    """One tile of queries of one head. Constants that name features are their row, or -1."""
    tile = tl.program_id(0)
    if CAUSAL:  # the longest tiles first, so that none is left for the end
        tile = tl.num_programs(0) - 1 - tile
    pair = tl.program_id(1)
    b = (pair // heads).to(tl.int64)
    h = (pair % heads).to(tl.int64)
    g = h // group
    q_base = q_ptr + b * stride_qb + h * stride_qh
    k_base = k_ptr + b * stride_kb + g * stride_kg
    v_base = v_ptr + b * stride_vb + g * stride_vg
    f_base = f_ptr + b * keys * COLUMNS
    key_id_base = key_id_ptr + b * keys
    first_key = tl.load(first_ptr + b)
    end_key = tl.load(end_ptr + b)

    row = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    real = row < queries
    query = row + offset  # positions are counted on the keys' axis
    d = tl.arange(0, DIM)
    q = tl.load(q_base + row[:, None] * stride_qt + d[None, :], mask=real[:, None], other=0.0)
    query_id = tl.zeros([BLOCK_M], tl.int32)
    if (SAME >= 0) or (SAME_OTHER >= 0):
        query_id = tl.load(query_id_ptr + b * queries + row, mask=real, other=-5)
    query_other = query_id ^ 1

    most = tl.full([BLOCK_M], HIDDEN, tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    mixed = tl.zeros([BLOCK_M, DIM], tl.float32)
    columns = tl.zeros([BLOCK_M, COLUMNS], tl.float32)
    scored = tl.zeros([BLOCK_M], tl.float32)
    far = tl.zeros([BLOCK_M], tl.float32)
    farther = tl.zeros([BLOCK_M], tl.float32)
    same = tl.zeros([BLOCK_M], tl.float32)
    same_other = tl.zeros([BLOCK_M], tl.float32)

    # distances in steps of whole blocks, if all of them are before the query
    FAR: tl.constexpr = (DISTANCE >= 0) or (DISTANCE_SQUARED >= 0)
    STEPPED: tl.constexpr = CAUSAL and (not LEADING) and (DISTANCE_SQUARED < 0)

    # the keys that some query of the tile sees, and the blocks that every query sees whole
    low, high = first_key, end_key
    whole_low, whole_high = first_key, end_key
    first_query = tile * BLOCK_M + offset
    if CAUSAL:
        high = tl.minimum(high, first_query + BLOCK_M)
        whole_high = tl.minimum(whole_high, first_query + 1)
    if WINDOW:
        low = tl.maximum(low, first_query - window + 1)
        whole_low = tl.maximum(whole_low, first_query + BLOCK_M - window)
    low = (low // BLOCK_N) * BLOCK_N  # below the first key that all see: only with LEADING
    whole_low = ((whole_low + BLOCK_N - 1) // BLOCK_N) * BLOCK_N
    whole_high = (whole_high // BLOCK_N) * BLOCK_N
    whole_low = tl.minimum(whole_low, high)
    whole_high = tl.maximum(whole_high, whole_low)

    if LEADING:
        most, total, mixed, columns, scored, far, farther, same, same_other = _walk(
            low, whole_low, q, query, k_base, v_base, f_base, key_id_base, stride_ks, stride_vs,
            query_id, query_other, first_key, end_key,
            most, total, mixed, columns, scored, far, farther, same, same_other, scale, window,
            True, CAUSAL, WINDOW, FAR, DISTANCE_SQUARED >= 0, False, SAME >= 0, SAME_OTHER >= 0,
            DIM, BLOCK_N, PRECISION, PARTS,
        )  # fmt: skip
    most, total, mixed, columns, scored, far, farther, same, same_other = _walk(
        whole_low, whole_high, q, query, k_base, v_base, f_base, key_id_base, stride_ks, stride_vs,
        query_id, query_other, first_key, end_key,
        most, total, mixed, columns, scored, far, farther, same, same_other, scale, window,
        False, CAUSAL, WINDOW, FAR, DISTANCE_SQUARED >= 0, STEPPED, SAME >= 0, SAME_OTHER >= 0,
        DIM, BLOCK_N, PRECISION, PARTS,
    )  # fmt: skip
    if STEPPED and (DISTANCE >= 0):
        # up to here `far` counts from the end of a key's block to the end of the last block
        place = tl.arange(0, COLUMNS)[None, :]
        within = tl.sum(tl.where(place == WITHIN, columns, 0.0), 1)
        far = far + within + (query - (whole_high - 1)).to(tl.float32) * total
    most, total, mixed, columns, scored, far, farther, same, same_other = _walk(
        whole_high, high, q, query, k_base, v_base, f_base, key_id_base, stride_ks, stride_vs,
        query_id, query_other, first_key, end_key,
        most, total, mixed, columns, scored, far, farther, same, same_other, scale, window,
        True, CAUSAL, WINDOW, FAR, DISTANCE_SQUARED >= 0, False, SAME >= 0, SAME_OTHER >= 0,
        DIM, BLOCK_N, PRECISION, PARTS,
    )  # fmt: skip

    # padded queries may see no key; NaN stays NaN, so that it is noticed
    total = tl.where(total == 0, 1.0, total)
    most = tl.where(most > -1.0e25, most, 0.0)
    mixed = mixed / total[:, None]
    o_base = out_ptr + b * stride_ob + h * stride_oh
    tl.store(
        o_base + row[:, None] * stride_ot + d[None, :],
        mixed.to(out_ptr.dtype.element_ty),
        mask=real[:, None],
    )
    r_base = rows_ptr + b * stride_rb + h * stride_rh
    if FEATURES > 0:
        place = tl.arange(0, COLUMNS)
        # divided by the sum of the same rounded weights, so that shares stay exact
        counted = tl.sum(tl.where(place[None, :] == ONES, columns, 0.0), 1)
        counted = tl.where(counted == 0, 1.0, counted)
        tl.store(
            r_base + place[None, :] * stride_rf + row[:, None],
            columns / counted[:, None],
            mask=real[:, None] & (place[None, :] < FEATURES),
        )
    if ENTROPY >= 0:
        entropy = 0.6931471805599453 * (most + tl.math.log2(total) - scored * scale / total)
        tl.store(r_base + ENTROPY * stride_rf + row, tl.where(entropy < 0, 0.0, entropy), mask=real)
    if LARGEST >= 0:
        tl.store(r_base + LARGEST * stride_rf + row, 1.0 / total, mask=real)
    if DISTANCE >= 0:
        tl.store(r_base + DISTANCE * stride_rf + row, far / total, mask=real)
    if DISTANCE_SQUARED >= 0:
        tl.store(r_base + DISTANCE_SQUARED * stride_rf + row, farther / total, mask=real)
    if (SELF >= 0) or (SAME >= 0):
        own = _at(
            q, query, 0, k_base, stride_ks, first_key, end_key, most, total, scale, window,
            CAUSAL, WINDOW, DIM,
        )  # fmt: skip
        if SELF >= 0:
            tl.store(r_base + SELF * stride_rf + row, own, mask=real)
        if SAME >= 0:  # a token is not its own repetition
            elsewhere = same / total - tl.where(query_id >= 0, own, 0.0)
            elsewhere = tl.where(elsewhere < 0, 0.0, elsewhere)
            tl.store(r_base + SAME * stride_rf + row, elsewhere, mask=real)
    if SAME_OTHER >= 0:
        tl.store(r_base + SAME_OTHER * stride_rf + row, same_other / total, mask=real)
    if PREVIOUS >= 0:
        before = _at(
            q, query, -1, k_base, stride_ks, first_key, end_key, most, total, scale, window,
            CAUSAL, WINDOW, DIM,
        )  # fmt: skip
        tl.store(r_base + PREVIOUS * stride_rf + row, before, mask=real)
    if NEXT >= 0:
        after = _at(
            q, query, 1, k_base, stride_ks, first_key, end_key, most, total, scale, window,
            CAUSAL, WINDOW, DIM,
        )  # fmt: skip
        tl.store(r_base + NEXT * stride_rf + row, after, mask=real)
