"""Whole rows of weights, their output and their shares of keys in one step on a GPU: few keys,
half precision. Everything else is made by products in single precision (`scores`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.statistics.kernels.fused import DIMS
from headscope.statistics.kernels.plan import Plan
from headscope.statistics.kernels.scores import block_output, block_weights
from headscope.statistics.kernels.usable import Disagreement, attempt, usable, wrong

MOST_KEYS = 128
MOST_FEATURES = 16  # columns the kernel has for them
QUERIES, WARPS = 64, 4  # of a tile
TEXTS = 2  # that are made both ways when a version is first used
APART = 1e-4  # of weights and shares: far above rounding, far below a wrong mask or place

_compared: set[tuple[object, ...]] = set()


def fits(call: Call, plan: Plan) -> bool:
    """Whether the kernel is made for such calls."""
    assert call.q is not None and call.k is not None and call.v is not None
    return (
        call.q.dtype in (torch.float16, torch.bfloat16)
        and call.q.dtype == call.k.dtype == call.v.dtype
        and call.q.shape[-1] == call.v.shape[-1]
        and call.q.shape[-1] in DIMS
        and call.k.shape[2] <= MOST_KEYS
        and all(of.stride(-1) == 1 for of in (call.q, call.k, call.v))
        and call.scaling is not None
        and call.scaling > 0
        and call.bias is None
        and call.softcap is None
        and call.sinks is None
        and call.window is None
        and len(plan.keys) <= MOST_FEATURES
        and all(feature.is_share for feature in plan.keys)
    )


def rows_of(call: Call, plan: Plan, some: slice, output: Tensor, rows: Tensor) -> Tensor:
    """b h t s in float32: the weights of some documents; their output (b t h d) and shares of keys
    (b h F t) are written where they belong."""
    assert call.q is not None
    if fits(call, plan) and usable("weights of rows", call.q):
        made = attempt("weights of rows", lambda: _by_kernel(call, plan, some, output, rows))
        if made is not None:
            return made
    return _by_products(call, plan, some, output, rows)


def _by_products(call: Call, plan: Plan, some: slice, output: Tensor, rows: Tensor) -> Tensor:
    assert call.q is not None
    weights = block_weights(call, plan.grid, some, slice(0, call.q.shape[2]))
    output.copy_(block_output(call, weights, some))
    if plan.keys:
        batch, heads, queries, keys = weights.shape
        columns = plan.key_columns()[some]
        shares = torch.bmm(weights.reshape(batch, heads * queries, keys), columns)
        of_keys = shares.view(batch, heads, queries, -1).transpose(2, 3)
        rows[:, :, : len(plan.keys)].copy_(of_keys)
    return weights


def _by_kernel(call: Call, plan: Plan, some: slice, output: Tensor, rows: Tensor) -> Tensor:
    from headscope.statistics.kernels.row_softmax import make_rows

    _compare(call, plan)
    arguments, constants = _given(call, plan, some, output, rows)
    weights: Tensor = arguments[6]
    batch, heads, queries, _ = weights.shape
    make_rows[(-(-queries // QUERIES), batch * heads)](*arguments, **constants)
    return weights


def compiled(call: Call, plan: Plan) -> Any:
    """Have the kernel compiled for calls like this one, and launch nothing."""
    from headscope.statistics.kernels.row_softmax import make_rows

    assert call.q is not None and call.v is not None
    batch, heads, queries, dim = call.q.shape
    output = call.v.new_empty(batch, queries, heads, dim)
    rows = call.q.new_empty(batch, heads, len(plan.names), queries, dtype=torch.float32)
    arguments, constants = _given(call, plan, slice(0, batch), output, rows)
    return make_rows.warmup(*arguments, grid=(1,), **constants)


def _given(
    call: Call, plan: Plan, some: slice, output: Tensor, rows: Tensor
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    assert call.q is not None and call.k is not None and call.v is not None
    assert call.scaling is not None
    q, k, v = (of[some] for of in (call.q, call.k, call.v))
    batch, heads, queries, dim = q.shape
    keys = k.shape[2]
    weights = torch.empty(batch, heads, queries, keys, device=q.device)
    arguments = (
        q, k, v, *(of[some] for of in _layout(plan)), weights, output, rows,
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *output.stride()[:3], *rows.stride()[:3],
        heads, heads // k.shape[1], queries, keys, call.scaling * 1.4426950408889634,
    )  # fmt: skip
    constants = {
        "FEATURES": len(plan.keys), "CAUSAL": call.causal, "DIM": dim,
        "BLOCK_M": QUERIES, "BLOCK_N": 64 if keys <= 64 else 128,
        "num_warps": WARPS, "num_stages": 1, "enable_fp_fusion": True,
    }  # fmt: skip
    return arguments, constants


_layouts: WeakKeyDictionary[Plan, tuple[Tensor, Tensor, Tensor]] = WeakKeyDictionary()


def _layout(plan: Plan) -> tuple[Tensor, Tensor, Tensor]:
    """Columns of the key features (b s 16), and the first real key and the place after the last
    (b); made once and used by every layer."""
    if plan not in _layouts:
        key = plan.grid.key
        columns = torch.zeros(*key.ids.shape, 16, dtype=torch.float16, device=key.ids.device)
        if plan.keys:
            columns[..., : len(plan.keys)] = plan.key_columns()
        first = key.start.to(torch.int32)
        _layouts[plan] = (columns, first, (first + key.lengths).to(torch.int32))
    return _layouts[plan]


def _compare(call: Call, plan: Plan) -> None:
    """Raise where the kernel's numbers are not those of the products; asked once a version."""
    assert call.q is not None and call.k is not None and call.v is not None
    keys, dim = call.k.shape[2], call.q.shape[3]
    kind = (keys <= 64, keys % 16 == 0, call.causal, dim, call.q.dtype, len(plan.keys))
    version = (*kind, call.q.device)
    if version in _compared:
        return
    _compared.add(version)  # before: the two texts are made by the kernel, too
    some = slice(0, min(TEXTS, call.q.shape[0]))
    few = replace(call, q=call.q[some], k=call.k[some], v=call.v[some])
    own = Plan(plan.grid.of_documents(some), plan.features)
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    for make in (_by_kernel, _by_products):
        batch, heads, queries, _ = few.q.shape  # pyright: ignore[reportOptionalMemberAccess]
        output = call.v.new_zeros(batch, queries, heads, dim)
        rows = call.q.new_zeros(batch, heads, len(plan.names), queries, dtype=torch.float32)
        found.append((make(few, own, slice(0, batch), output, rows), rows, output))
    real = own.grid.query.valid
    rounding = 2 * torch.finfo(call.v.dtype).eps
    names = ("weights", "shares of keys", "output")
    masks = (real[:, None, :, None], real[:, None, None], real[:, :, None, None])
    bounds = (APART, APART, rounding)
    for name, valid, bound, mine, plain in zip(names, masks, bounds, *found, strict=True):
        if bool(wrong(mine, plain, valid, bound, least=0.0).any()):
            raise Disagreement(f"{name} of rows of {keys} keys are not those of plain products")
