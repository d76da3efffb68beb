"""Emphasis: a head's weights on some keys times a factor, rows scaled back to their sum.

`weights` is (positions, factor). It is the same as adding the factor's logarithm to the scores of
these keys. A factor of 1 changes nothing, one of 0 hides the keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from headscope.capture import Again, Call
from headscope.capture.call import Lazy
from headscope.capture.interface import apply
from headscope.errors import BadInput

BLOCK = 128  # queries whose weights are computed at a time on a long text


def check(weights: object) -> None:
    if not isinstance(weights, tuple) or len(cast("tuple[object, ...]", weights)) != 2:
        raise BadInput("Emphasis takes weights=(positions, factor), such as ((3, 4), 5.0).")
    positions, factor = cast("tuple[object, object]", weights)
    right = isinstance(positions, tuple) and all(
        type(one) is int and one >= 0 for one in cast("tuple[object, ...]", positions)
    )
    if not right or not positions:
        raise BadInput(f"Positions are token numbers from 0, such as (3, 4), not {positions!r}.")
    if type(factor) not in (int, float) or not math.isfinite(cast("float", factor)):
        raise BadInput(f"A factor is a number, such as 5.0, not {factor!r}.")
    if cast("float", factor) < 0:
        raise BadInput(f"A factor is 0 or more, not {factor!r}.")


def instead(call: Call, weights: object) -> Tensor:
    return emphasised(call.weights, *cast("tuple[tuple[int, ...], float]", weights))


def emphasised(weights: Tensor, positions: Sequence[int], factor: float) -> Tensor:
    """b h r s: these keys' weights times the factor, every row with its former sum."""
    keys = weights.shape[-1]
    scale = torch.ones(keys, dtype=weights.dtype, device=weights.device)
    scale[[one for one in positions if one < keys]] = factor
    made = weights * scale
    before, after = weights.sum(-1, keepdim=True), made.sum(-1, keepdim=True)
    # a row that sees only these keys keeps its weights
    least = torch.finfo(weights.dtype).tiny
    return torch.where(after > least, made * (before / after.clamp(min=least)), weights)


def without_maps(call: Call, off: Sequence[int], weights: object) -> Again | None:
    """These heads' attention in blocks of queries; the others' as the model computes it."""
    if call.q is None or call.v is None or call.again is None or call.edited:
        return None
    positions, factor = cast("tuple[tuple[int, ...], float]", weights)
    q, v, again, queries = call.q, call.v, call.again, call.q.shape[2]
    if call.weights_of(torch.arange(1, device=q.device)) is None:
        return None

    def rows(some: Tensor) -> Tensor | None:
        own = call.weights_of(some)
        assert own is not None
        own = own.clone()
        own[:, list(off)] = emphasised(own[:, list(off)], positions, factor)
        return own

    def output() -> Tensor:
        made = again(q).output().clone()
        for start in range(0, queries, BLOCK):
            some = torch.arange(start, min(queries, start + BLOCK), device=q.device)
            changed = rows(some)
            assert changed is not None
            mixed = apply(changed, v)
            made[:, some[:, None], torch.tensor(list(off), device=q.device)] = mixed[
                :, :, list(off)
            ].to(made.dtype)
        return made

    return Again(Lazy(lambda: rows(torch.arange(queries, device=q.device))), rows, output)
