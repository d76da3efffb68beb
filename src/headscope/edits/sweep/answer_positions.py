"""The positions of the last layer that answers depend on.

A classifier reads one position of the last layer, a masked-word loss a few. The answers' gradient
shows which ones: it is exactly zero at all other positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from headscope.capture import Call
from headscope.capture.interface import apply
from headscope.models.own_thread import forward_of

WORTHWHILE = 4  # slicing pays if at most one position in four matters


def positions_read(answers: Tensor, hidden: Tensor) -> Tensor | None:
    """b p: the positions that `answers`, made from `hidden` (b t d), depend on; None if many."""
    if hidden.dim() != 3:
        return None
    # random factors, so that contributions of different answers do not cancel
    generator = torch.Generator().manual_seed(0)
    factors = torch.rand(answers.shape, generator=generator).to(answers) + 0.5
    (gradient,) = torch.autograd.grad((answers * factors).sum(), hidden, materialize_grads=True)
    touched = gradient.abs().amax(dim=-1) > 0
    most = int(touched.sum(dim=1).max())
    if most == 0 or most * WORTHWHILE > hidden.shape[1]:
        return None
    return touched.int().topk(most, dim=1).indices.sort(dim=1).values


def rows(tensor: Tensor, look: Tensor) -> Tensor:
    """b p ...: the selected positions of b t ...."""
    index = look.reshape(*look.shape, *[1] * (tensor.dim() - 2))
    return tensor.gather(1, index.expand(-1, -1, *tensor.shape[2:]))


def heads_at(call: Call, look: Tensor, replaced: bool) -> Tensor:
    """b p h d: the head outputs at the selected positions."""
    assert call.q is not None and call.k is not None and call.v is not None
    if replaced:  # by the scope's own edits
        return apply(_query_rows(call.weights, look), call.v)
    mask = None if call.mask is None else _query_rows(call.mask, look)
    if call.bias is not None:
        bias = _query_rows(call.bias, look)
        mask = bias if mask is None else mask + bias
    made = functional.scaled_dot_product_attention(
        _query_rows(call.q, look),
        call.k,
        call.v,
        attn_mask=mask,
        scale=call.scaling,
        enable_gqa=call.groups != call.heads,
    )
    return made.transpose(1, 2)


def can_be_sliced(call: Call) -> bool:
    """Whether torch's own attention gives this call's output (no soft-cap, no sinks)."""
    known = call.q is not None and call.v is not None
    return known and call.softcap is None and call.sinks is None


def _query_rows(tensor: Tensor, look: Tensor) -> Tensor:
    """b h p ...: the selected rows of b|1 h|1 t ...."""
    full = tensor.expand(len(look), *tensor.shape[1:])
    return rows(full.transpose(1, 2), look).transpose(1, 2)


# The output layer at the positions that answers read, and nowhere else.
#
# In a small decoder, scoring every token over the vocabulary is a large part of a pass, and an
# answer needs one or a few of them.


class OutputRows:
    """Replaces the output layer: computes the selected rows; all other positions are filler."""

    def __init__(self, layer: nn.Module, look: Tensor, length: int) -> None:
        self.layer = layer
        self._look, self._length = look, length  # b p, and the t of the stack's hidden states
        self._whole: Callable[..., Any] = forward_of(layer)

    def forward(self, hidden: Tensor, *args: Any, **kwargs: Any) -> Any:
        if hidden.dim() != 3 or hidden.shape[1] != self._length:
            return self._whole(hidden, *args, **kwargs)
        look = self._look.repeat(len(hidden) // len(self._look), 1)
        short: Tensor = self._whole(rows(hidden, look), *args, **kwargs)
        if look.shape[1] == 1:  # unused positions need no memory
            return short.expand(-1, self._length, -1)
        full = short.new_zeros(len(hidden), self._length, short.shape[-1])
        return full.scatter_(1, look[:, :, None].expand_as(short), short)


def output_layer(model: Any) -> nn.Module | None:
    """The layer that scores words, if the model has one."""
    found = getattr(model, "get_output_embeddings", lambda: None)()
    return found if isinstance(found, nn.Module) else None
