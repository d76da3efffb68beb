"""The GPU kernel that makes short rows of weights whole from q and k, and what they make of v.

For models in half precision: the products of two such numbers are exact in single precision, so
that tensor cores give the scores that a product in single precision would. A weight goes on into
products as two half-precision terms (its rounded self and what that lacks): with v, in the model's
own precision, to 2⁻¹⁷ of itself or better, far below the rounding of the output; with the columns
of 0 and 1 of the key features to 2⁻²². Weights are raised for that, so that small ones stay
normal numbers.
"""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportAssignmentType=false
# pyright: reportCallIssue=false
from __future__ import annotations

import triton
import triton.language as tl

HIDDEN = tl.constexpr(-1.0e30)  # finite, so that a row that sees nothing is no nan
COLUMNS = tl.constexpr(16)  # the narrowest matrix a tensor core multiplies
RAISED = tl.constexpr(16384.0)

# numbers that change from batch to batch: the kernel is not compiled again for each of them. Of the
# number of keys it is told whether 16 divides it, for then rows are written four weights at a time
OF_BATCH = ["stride_rb", "stride_rh", "stride_rf", "queries"]


@triton.jit(do_not_specialize=OF_BATCH)
def make_rows(
    q_ptr, k_ptr, v_ptr, columns_ptr, first_ptr, end_ptr, whole_ptr, out_ptr, rows_ptr,
    stride_qb, stride_qh, stride_qt, stride_kb, stride_kg, stride_ks,
    stride_vb, stride_vg, stride_vs, stride_ob, stride_ot, stride_oh,
    stride_rb, stride_rh, stride_rf, heads, group, queries, keys, scale,
    FEATURES: tl.constexpr, CAUSAL: tl.constexpr,
    DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Some queries of one head and all keys; `scale` is for exponents of 2."""
    pair = tl.program_id(1)
    b = (pair // heads).to(tl.int64)
    h = (pair % heads).to(tl.int64)
    g = h // group
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    key = tl.arange(0, BLOCK_N)
    d = tl.arange(0, DIM)
    real = row < queries
    inside = (key >= tl.load(first_ptr + b)) & (key < tl.load(end_ptr + b))
    q = tl.load(
        q_ptr + b * stride_qb + h * stride_qh + row[:, None] * stride_qt + d[None, :],
        mask=real[:, None], other=0.0,
    )  # fmt: skip
    k = tl.load(
        k_ptr + b * stride_kb + g * stride_kg + key[None, :] * stride_ks + d[:, None],
        mask=inside[None, :], other=0.0,
    )  # fmt: skip
    seen = inside[None, :] & real[:, None]
    if CAUSAL:
        seen = seen & (key[None, :] <= row[:, None])
    score = tl.where(seen, tl.dot(q, k), HIDDEN)
    p = tl.math.exp2((score - tl.max(score, 1)[:, None]) * scale)
    p = tl.where(seen, p, 0.0)
    total = tl.sum(p, 1)
    p = p * (1.0 / tl.where(total == 0.0, 1.0, total))[:, None]  # padded queries may see nothing
    tl.store(
        whole_ptr + ((b * heads + h) * queries + row[:, None]) * keys + key[None, :],
        p, mask=real[:, None] & (key < keys)[None, :],
    )  # fmt: skip

    v = tl.load(
        v_ptr + b * stride_vb + g * stride_vg + key[:, None] * stride_vs + d[None, :],
        mask=inside[:, None], other=0.0,
    )  # fmt: skip
    rounded = p.to(v.dtype)
    mixed = tl.dot(rounded, v)
    mixed = tl.dot((p - rounded.to(tl.float32)).to(v.dtype), v, mixed)
    tl.store(
        out_ptr + b * stride_ob + h * stride_oh + row[:, None] * stride_ot + d[None, :],
        mixed.to(out_ptr.dtype.element_ty), mask=real[:, None],
    )  # fmt: skip
    if FEATURES > 0:
        place = tl.arange(0, COLUMNS)
        columns = tl.load(
            columns_ptr + b * keys * COLUMNS + key[:, None] * COLUMNS + place[None, :],
            mask=(key < keys)[:, None], other=0.0,
        )  # fmt: skip
        raised = p * RAISED
        high = raised.to(tl.float16)
        shares = tl.dot(high, columns)
        shares = tl.dot((raised - high.to(tl.float32)).to(tl.float16), columns, shares)
        tl.store(
            rows_ptr + b * stride_rb + h * stride_rh + place[None, :] * stride_rf + row[:, None],
            shares * (1.0 / RAISED), mask=real[:, None] & (place < FEATURES)[None, :],
        )  # fmt: skip
