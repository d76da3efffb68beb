"""Reading a text again with some of the model's inputs changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from headscope.reading import Reading, Scope
    from headscope.text.tokenise import Batch


def reread(scope: Scope, batch: Batch, layer: int, **changed: Tensor) -> Reading:
    """The reading of a batch of one text, some inputs replaced."""
    inputs = {name: tensor for name, tensor in batch.inputs.items() if scope.accepts(name)}
    return scope.read_inputs({**inputs, **changed}, batch.tokens[0], layers=[layer])


def positions(scope: Scope, length: int) -> Tensor:
    """The position ids the model gives by itself, 1 n.

    Families that keep a row for padding (RoBERTa's) start counting after it.
    """
    start = 0
    for name, module in scope.model.named_modules():
        if name.endswith("position_embeddings"):
            padding = getattr(module, "padding_idx", None)
            start = 0 if padding is None else padding + 1
            break
    return torch.arange(start, start + length, device=scope.device)[None]
