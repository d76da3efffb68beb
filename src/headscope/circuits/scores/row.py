"""One query's row of one head: the parts of its scores and weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.capture.call import allowed
from headscope.capture.softmax import weights_of_scores

AT_ONCE = 512  # queries whose scores are made together


@dataclass(frozen=True)
class Row:
    """q of the query and k of every key, in the pass's graph, and the bias added to q·k."""

    call: Call
    head: int
    query: int
    q: Tensor  # d
    k: Tensor  # s d
    bias: Tensor  # s, float64
    seen: Tensor  # s bool: keys the query may attend to

    @property
    def scaling(self) -> float:
        assert self.call.scaling is not None
        return self.call.scaling

    def products(self, q: Tensor | None = None, k: Tensor | None = None) -> Tensor:
        """s, float64: scaled q·k of these vectors or the row's own, before bias and soft-cap."""
        q = self.q if q is None else q
        k = self.k if k is None else k
        return self.scaling * (k.detach().double() @ q.detach().double())

    def weights(self, products: Tensor | None = None) -> Tensor:
        """s, float64: the weights that the model makes of these products."""
        scores = self.products() if products is None else products
        if (cap := self.call.softcap) is not None:
            scores = torch.tanh(scores / cap) * cap
        scores = (scores + self.bias)[None, None, None]
        sinks = self.call.sinks
        sinks = None if sinks is None else sinks.detach().double()[self.head : self.head + 1]
        made = weights_of_scores(scores, visible=self.seen[None, None, None], sinks=sinks)
        return made[0, 0, 0]


@torch.enable_grad()  # the caller may have disabled gradients
def row_of(call: Call, head: int, query: int) -> Row:
    assert call.q is not None and call.k is not None
    group = head // (call.heads // call.groups)
    k = call.k[0, group]
    bias = torch.zeros(len(k), dtype=torch.float64, device=k.device)
    if call.bias is not None:
        own = call.bias[0, head if call.bias.shape[1] > 1 else 0].detach()
        bias = own[query if own.shape[0] > 1 else 0].double()
    return Row(call, head, query, call.q[0, head, query], k, bias, _seen(call, head, query))


def _seen(call: Call, head: int, query: int) -> Tensor:
    assert call.k is not None
    mask = call.mask_of(torch.tensor([query], device=call.k.device))
    if mask is None:
        seen = torch.ones(call.k.shape[2], dtype=torch.bool, device=call.k.device)
        if call.causal and call.kind != "cross":
            seen[query + 1 :] = False
        return seen
    return allowed(mask)[0, head if mask.shape[1] > 1 else 0, 0]


def row_blocks(call: Call, head: int) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Some queries at a time: the queries, their scores (r s) and the keys they see (r s)."""
    assert call.q is not None and call.k is not None and call.scaling is not None
    q, k = call.q[0, head].detach(), call.k[0, head // (call.heads // call.groups)].detach()
    every = torch.arange(len(k), device=k.device)
    for start in range(0, len(q), AT_ONCE):
        queries = slice(start, min(len(q), start + AT_ONCE))
        numbers = torch.arange(queries.start, queries.stop, device=k.device)
        scores = call.scaling * q[queries] @ k.T
        if call.bias is not None:
            own = call.bias[0, head if call.bias.shape[1] > 1 else 0].detach()
            scores = scores + (own[queries] if own.shape[0] > 1 else own)
        mask = call.mask_of(numbers)
        if mask is not None:
            seen = allowed(mask)[0, head if mask.shape[1] > 1 else 0].expand_as(scores)
        elif call.causal and call.kind != "cross":
            seen = every <= numbers[:, None]
        else:
            seen = torch.ones_like(scores, dtype=torch.bool)
        yield queries, scores, seen
