"""Where a model turns the outputs of its heads into its hidden state."""

from __future__ import annotations

import torch
from torch import Tensor, nn

# the names under which attention modules keep the projection, most telling first
NAMES = (
    "o_proj",
    "out_proj",
    "c_proj",
    "out_lin",
    "to_out",
    "wo",
    "Wo",
    "o",
    "output",
    "dense",
    "proj",
)


def output_projection(model: nn.Module, module: nn.Module, width: int) -> Tensor | None:
    """width × hidden weight of the projection of an attention module's heads; None if not found.

    `width` is heads × head size. The projection lies in the module itself, or, as in BERT, in a
    neighbour called `output`.
    """
    for home in (module, _parent(model, module)):
        if home is None:
            continue
        for name in NAMES:
            child = getattr(home, name, None)
            if isinstance(child, nn.Module) and child is not module:
                weight = _first_projection(child, width)
                if weight is not None:
                    return weight
    return None


def head_norms(weight: Tensor, values: Tensor, heads: int) -> Tensor:
    """b h s: ‖v_j W_h‖ for values b g s d and the projection's weight (h·d × hidden).

    The norm needs only the d × d matrix W_h W_hᵀ of each head, never the projected vectors.
    """
    batch, groups, keys, dim = values.shape
    per_head = weight.float().view(heads, dim, -1)
    gram = per_head @ per_head.transpose(1, 2)  # h d d
    spread = values.float().repeat_interleave(heads // groups, dim=1)  # b h s d
    squared = (torch.einsum("bhsd,hde->bhse", spread, gram) * spread).sum(-1)
    return squared.clamp_min(0).sqrt().view(batch, heads, keys)


def _first_projection(home: nn.Module, width: int) -> Tensor | None:
    for part in home.modules():
        weight = getattr(part, "weight", None)
        if not isinstance(weight, Tensor) or weight.dim() != 2:
            continue
        if isinstance(part, nn.Linear) and weight.shape[1] == width:
            return weight.detach().T
        # GPT-2's Conv1D keeps its weight the other way round
        if type(part).__name__ == "Conv1D" and weight.shape[0] == width:
            return weight.detach()
    return None


def _parent(model: nn.Module, module: nn.Module) -> nn.Module | None:
    for candidate in model.modules():
        if any(child is module for child in candidate.children()):
            return candidate
    return None
