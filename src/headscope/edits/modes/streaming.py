"""Streaming: a head sees only the first tokens (the sink) and the latest (the window).

`weights` is (sink, window): how many of the first tokens, and how many of the latest, the query's
own among them. The softmax is over the remaining keys, which equals a mask on the scores. In an
encoder the window extends to both sides. A head that works like this needs a key-value cache of
only sink + window tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from headscope.capture import Again, Call
from headscope.capture.call import Lazy
from headscope.capture.interface import apply
from headscope.capture.softmax import weights_of
from headscope.errors import BadInput

SINK, WINDOW = 4, 256
BLOCK = 512  # queries whose attention is computed at a time on a long text


def check(weights: object) -> None:
    if weights is None:
        return
    right = isinstance(weights, tuple) and len(cast("tuple[object, ...]", weights)) == 2
    counts = cast("tuple[object, ...]", weights) if right else ()
    if not right or not all(type(one) is int for one in counts):
        raise BadInput(
            f"Streaming takes weights=(sink, window), such as (4, 256), not {weights!r}."
        )
    sink, window = cast("tuple[int, int]", weights)
    if sink < 0 or window < 1:
        raise BadInput(
            f"The sink is at least 0 tokens and the window at least 1, not {sink} and {window}."
        )


def instead(call: Call, weights: object) -> Tensor:
    queries = torch.arange(call.weights.shape[2], device=call.weights.device)
    return _restricted_rows(call, call.weights, queries, kept_keys(call, queries, sizes(weights)))


def sizes(weights: object) -> tuple[int, int]:
    """Sink and window, as the caller passed them."""
    return (SINK, WINDOW) if weights is None else cast("tuple[int, int]", weights)


def kept_keys(call: Call, rows: Tensor, sink_window: tuple[int, int]) -> Tensor:
    """b 1 r s, True for keys that a query of `rows` (r) still sees: padding is never a sink.

    Positions count from the end, because in generation queries are the last tokens of the keys.
    """
    sink, window = sink_window
    real = call.valid_keys  # b s
    keys = real.shape[1]
    queries = call.weights.shape[2] if call.q is None else call.q.shape[2]
    first = real & (real.cumsum(-1) <= sink)
    position = rows + ((keys - queries) if call.kind != "cross" else 0)
    ahead = position[:, None] - torch.arange(keys, device=real.device)  # r s
    kept = first[:, None, None, :] | (ahead.abs() < window)[None, None]
    return kept & (ahead >= 0) if call.causal and call.kind != "cross" else kept


def _restricted_rows(call: Call, weights: Tensor, rows: Tensor, kept: Tensor) -> Tensor:
    """b h r s. A row's weights lack the share of sink logits, so its softmax is computed again."""
    if call.sinks is None or call.q is None or call.k is None or call.edited:
        return restricted(weights, kept)
    made = weights_of(call, call.q[:, :, rows], call.k, rows, kept=kept)
    return made.to(weights.dtype)


def restricted(weights: Tensor, kept: Tensor) -> Tensor:
    """Rows (b h r s) as a softmax over the kept keys."""
    exact = weights.float() if weights.dtype in (torch.float16, torch.bfloat16) else weights
    left = exact * kept
    whole, total = exact.sum(-1, keepdim=True), left.sum(-1, keepdim=True)
    # a row that underflowed cannot be scaled up: it becomes uniform over its visible keys
    spread = kept.to(exact.dtype) / kept.sum(-1, keepdim=True).clamp(min=1)
    least = torch.finfo(exact.dtype).tiny
    scaled = torch.where(total > 0, left / total.clamp(min=least), spread)
    return (scaled * whole).to(weights.dtype)


def without_maps(call: Call, off: Sequence[int], weights: object) -> Again | None:
    """These heads' attention in blocks of queries, each over its sink and window alone."""
    if call.q is None or call.k is None or call.v is None or call.again is None or call.edited:
        return None
    if not call.causal or call.kind == "cross":
        return None
    q, k, v, again = call.q, call.k, call.v, call.again
    sink, window = sizes(weights)
    heads = torch.tensor(sorted(off), device=q.device)
    queries, keys = q.shape[2], k.shape[2]
    before = keys - queries

    def rows(some: Tensor) -> Tensor | None:
        own = call.weights_of(some)
        if own is None:
            return None
        own = own.clone()
        kept = kept_keys(call, some, (sink, window))
        own[:, heads] = _restricted_rows(call, own, some, kept)[:, heads]
        return own

    def output() -> Tensor:
        made = again(q).output().clone()  # b t h d
        first = call.valid_keys.int().argmax(-1)  # b, where padding on the left ends
        sinks = torch.arange(int(first.min()), min(keys, int(first.max()) + sink), device=q.device)
        for start in range(0, queries, BLOCK):
            some = torch.arange(start, min(queries, start + BLOCK), device=q.device)
            low = max(0, before + start - window + 1)
            band = torch.arange(low, before + int(some[-1]) + 1, device=q.device)
            seen = torch.cat([sinks[sinks < low], band])
            kept = kept_keys(call, some, (sink, window))[..., seen]
            mixed = apply(_over(call, some, seen, kept), v[:, :, seen])
            made[:, some[:, None], heads] = mixed[:, :, heads].to(made.dtype)
        return made

    every = torch.arange(queries, device=q.device)
    return Again(Lazy(lambda: rows(every)), rows, output)


def _over(call: Call, rows: Tensor, keys: Tensor, kept: Tensor) -> Tensor:
    """b h r k: the weights of some queries over some keys alone."""
    assert call.q is not None and call.k is not None
    return weights_of(call, call.q[:, :, rows], call.k[:, :, keys], rows, keys=keys, kept=kept)
