"""The output layer at the positions that answers read, and nowhere else.

Scoring every token over the vocabulary is a good part of a pass of a small decoder, and an answer
looks at one or a few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from headscope.edits.sweep.answer_positions import rows


class OutputRows:
    """Stands in for the output layer: the looked-at rows, whose places the others only fill."""

    def __init__(self, layer: nn.Module, look: Tensor, length: int) -> None:
        self.layer = layer
        self._look, self._length = look, length  # b p, and the t of the stack's hidden states
        self._whole: Callable[..., Any] = layer.forward

    def forward(self, hidden: Tensor, *args: Any, **kwargs: Any) -> Any:
        if hidden.dim() != 3 or hidden.shape[1] != self._length:
            return self._whole(hidden, *args, **kwargs)
        look = self._look.repeat(len(hidden) // len(self._look), 1)
        short: Tensor = self._whole(rows(hidden, look), *args, **kwargs)
        if look.shape[1] == 1:  # no memory is needed for the places that nobody reads
            return short.expand(-1, self._length, -1)
        full = short.new_zeros(len(hidden), self._length, short.shape[-1])
        return full.scatter_(1, look[:, :, None].expand_as(short), short)


def output_layer(model: Any) -> nn.Module | None:
    """The layer that scores words, where the model has one."""
    found = getattr(model, "get_output_embeddings", lambda: None)()
    return found if isinstance(found, nn.Module) else None
