"""Weights that accelerate keeps elsewhere between passes, where their places hold nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn


def fetched(model: nn.Module, name: str, weight: Tensor) -> Tensor:
    """The numbers of a parameter by its name in the model; itself where they are in their place."""
    if not weight.is_meta:
        return weight
    holder, _, own_name = name.rpartition(".")
    hook: Any = getattr(model.get_submodule(holder), "_hf_hook", None)
    for one in getattr(hook, "hooks", (hook,)):
        try:
            return one.weights_map[own_name]
        except (AttributeError, KeyError, TypeError):
            continue  # another kind of hook, or one that keeps other weights
    return weight
