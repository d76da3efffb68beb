"""The control: the same model with random weights but its trained embeddings.

A probe's score on it comes from words and positions, not from what the layers learned.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from headscope.reading import Scope


def with_random_weights(scope: Scope, seed: int = 0) -> Scope:
    """A scope on a fresh model of the same shape that keeps the word and position embeddings."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh: Any = type(scope.model)(copy.deepcopy(scope.model.config))
    trained = dict(scope.model.named_modules())
    for name, module in fresh.named_modules():
        if _embeds_input(name, module):
            module.load_state_dict(trained[name].state_dict())
    fresh = fresh.to(device=scope.device, dtype=next(scope.model.parameters()).dtype).eval()
    name = f"{scope.name} with random weights"
    return dataclasses.replace(scope, model=fresh, name=name, shared={})


def _embeds_input(name: str, module: nn.Module) -> bool:
    """Embeddings of words, positions and segments, with their normalisation.

    Tables inside attention (T5's relative positions) are weights of the heads and stay random.
    """
    path = name.lower()
    if "attention" in path or "attn" in path:
        return False
    inside = "embeddings." in path + "."
    return isinstance(module, nn.Embedding) or (inside and isinstance(module, nn.LayerNorm))
