"""Longformer and the encoder of LED: a band of local weights plus rows and columns of global ones.

The module computes b t h (g + 2w + 1): for each query its weights to the g global keys, then to
the keys from w before it to w after it. Global queries have rows of their own over all keys.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor, nn

from headscope.capture.products import Scores
from headscope.capture.watch import Watch

_NAMES = {"LongformerSelfAttention", "LEDEncoderSelfAttention"}


def taps(module: nn.Module) -> contextlib.AbstractContextManager[None] | None:
    return _Translate(module) if type(module).__name__ in _NAMES else None


class _Translate(Watch):
    """Asks the module for its weights, shows them dense, and returns what the caller asked for."""

    def before(self, given: dict[str, Any]) -> None:
        self._asked = bool(given.get("output_attentions"))
        given["output_attentions"] = True

    def after(self, given: dict[str, Any], output: Any) -> Any:
        if output is None:
            return None
        is_global: Tensor = given["is_index_global_attn"]  # b t
        weights = dense(output[1], output[2] if len(output) > 2 else None, is_global)
        real = ~given["is_index_masked"]
        scores = values = None
        if self.scores_wanted:
            if not bool(is_global.any()):  # global queries use values of another projection
                values = self._heads(given["hidden_states"], "value")
            reach = (output[1].shape[-1] - (output[2].shape[2] if len(output) > 2 else 0) - 1) // 2
            scores = self._scores(given["hidden_states"], is_global, real, reach)
        replaced = self.show(weights, real, scores, values)
        result = output[0]
        # with gradients the dense weights take the band's position, so that gradients reach them
        if replaced is not weights or weights.requires_grad:
            result = self._mix(given["hidden_states"], replaced, is_global)
        return (result, *output[1:]) if self._asked else (result,)

    def _scores(self, hidden: Tensor, is_global: Tensor, real: Tensor, reach: int) -> Scores:
        """Global queries meet keys of another projection. Both sets of keys are put side by side,
        and each query is zero in the half that is not its own."""
        queries = hidden.shape[1]
        q, k = self._heads(hidden, "query"), self._heads(hidden, "key")
        dim = q.shape[-1]
        if bool(is_global.any()):
            own = is_global[:, None, :, None]
            q = torch.cat([q * ~own, self._heads(hidden, "query_global") * own], dim=-1)
            k = torch.cat([k, self._heads(hidden, "key_global")], dim=-1)
        position = torch.arange(queries, device=hidden.device)
        near = (position[:, None] - position).abs() <= reach
        seen = (near | is_global[:, None, :] | is_global[:, :, None]) & real[:, None, :]
        return Scores(q, k, dim**-0.5, None, seen[:, None])

    def _heads(self, hidden: Tensor, projection: str) -> Tensor:
        """b h t d: what one of the module's projections makes of its input."""
        module: Any = self.module
        made: Tensor = getattr(module, projection)(hidden)
        return made.view(*hidden.shape[:2], module.num_heads, -1).transpose(1, 2)

    def _mix(self, hidden: Tensor, weights: Tensor, is_global: Tensor) -> Tensor:
        """b t (h d): global queries look at values of their own projection."""
        module: Any = self.module
        batch, queries, width = hidden.shape

        def mixed(project: nn.Module) -> Tensor:
            value = project(hidden).view(batch, queries, weights.shape[1], -1).transpose(1, 2)
            return (weights.to(value.dtype) @ value).transpose(1, 2).reshape(batch, queries, width)

        local = mixed(module.value)
        if not bool(is_global.any()):
            return local
        return torch.where(is_global[..., None], mixed(module.value_global), local)


def dense(banded: Tensor, of_global: Tensor | None, is_global: Tensor) -> Tensor:
    """b h t s from the band (b t h g+2w+1) and the rows of global queries (b h g s)."""
    batch, queries, heads, columns = banded.shape
    most = of_global.shape[2] if of_global is not None else 0
    reach = (columns - most - 1) // 2
    device = banded.device
    # a margin of `reach` on both sides takes what the band holds beyond the ends
    margins = banded.new_zeros(batch, heads, queries, queries + 2 * reach)
    key = torch.arange(queries, device=device)[:, None] + torch.arange(2 * reach + 1, device=device)
    local = banded[..., most:].permute(0, 2, 1, 3)
    weights = margins.scatter(3, key.expand(batch, heads, -1, -1), local)
    weights = weights[..., reach : reach + queries]
    if of_global is None:
        return weights
    weights = weights.clone()
    for row in range(batch):
        keys = is_global[row].nonzero().flatten()
        weights[row, :, :, keys] += banded[row, :, :, : len(keys)].permute(1, 0, 2)
        weights[row, :, keys] = of_global[row, :, : len(keys)]
    return weights
