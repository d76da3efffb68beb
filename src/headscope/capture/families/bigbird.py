"""Block-sparse BigBird: blocks of weights that the module itself puts together on its way out.

Where a random block falls on a global one, the softmax counts those keys twice and the dense
map, like the model's own `output_attentions`, shows them once: such rows sum to less than one.
"""

from __future__ import annotations

import contextlib
from typing import Any

from torch import Tensor, nn

from headscope.capture.watch import Watch

_SPARSE = {"BigBirdBlockSparseAttention", "BigBirdPegasusBlockSparseAttention"}
_STACKS = {"BigBirdModel", "BigBirdPegasusEncoder"}


def taps(module: nn.Module) -> contextlib.AbstractContextManager[None] | None:
    name = type(module).__name__
    if name in _SPARSE:
        return _Assembled(module)
    return _StaysSparse(module) if name in _STACKS else None


def withholds_values(module: nn.Module) -> bool:
    """Keys counted twice are shown once, so weights times values do not give the output."""
    return type(module).__name__ in _SPARSE


class _StaysSparse(Watch):
    """A short text makes the model turn itself into a full one for good; this turns it back."""

    closes_tap = False

    def before(self, given: dict[str, Any]) -> None:
        parts: list[Any] = [
            part for part in self.module.modules() if hasattr(part, "attention_type")
        ]
        self._found = [(part, part.attention_type, getattr(part, "self", None)) for part in parts]

    def after(self, given: dict[str, Any], output: Any) -> Any:
        for part, attention_type, attention in self._found:
            part.attention_type = attention_type
            if attention is not None:
                part.self = attention
        return output


class _Assembled(Watch):
    """The dense weights the module returns anyway, and the mixing of others in their place."""

    def after(self, given: dict[str, Any], output: Any) -> Any:
        if output is None:
            return None
        hidden: Tensor = given["hidden_states"]  # b t (h d)
        weights: Tensor = output[1]  # b h t s
        real: Tensor = given["from_mask"].reshape(hidden.shape[:2])  # b t, 1 for real tokens
        replaced = self.show(weights, real > 0)
        if replaced is weights:
            return output
        module: Any = self.module
        batch, queries, width = hidden.shape
        value = module.value(hidden).view(batch, queries, weights.shape[1], -1).transpose(1, 2)
        mixed = (replaced.to(value.dtype) @ value).transpose(1, 2).reshape(batch, queries, width)
        return mixed * real[..., None], replaced
