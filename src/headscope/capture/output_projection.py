"""The module that turns the outputs of heads into the hidden state.

It is found by watching one pass: the projection is the module whose input is exactly the heads'
outputs. A family read at its softmax gives no values to compare, so there the projection is found
by name.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Generator
from typing import Any

import torch
from torch import Tensor, nn

from headscope.capture.call import Call
from headscope.capture.interface import apply
from headscope.models.own_thread import only_here
from headscope.models.placement import stored_plainly

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
_seen: weakref.WeakKeyDictionary[nn.Module, weakref.ref[nn.Module]] = weakref.WeakKeyDictionary()


@contextlib.contextmanager
def watching(model: nn.Module) -> Generator[Callable[[Call], None]]:
    """While the block runs, `note` every call; the module that takes its heads' outputs is
    recorded."""
    waiting: list[tuple[nn.Module, Tensor]] = []

    def note(call: Call) -> None:
        if call.v is not None:
            mixed = apply(call.weights, call.v)
            waiting.append((call.module, mixed.reshape(*mixed.shape[:2], -1)))

    def look(module: nn.Module, given: Any) -> None:
        if not waiting or not given or not isinstance(given[0], Tensor):
            return
        attention, flat = waiting[-1]
        if given[0].numel() == flat.numel() and same_numbers(given[0].reshape(flat.shape), flat):
            _seen[attention] = weakref.ref(module)
            waiting.clear()

    handles = [
        module.register_forward_pre_hook(only_here(look))
        for module in model.modules()
        if _is_linear(module)
    ]
    try:
        yield note
    finally:
        for handle in handles:
            handle.remove()


def projection_module(model: nn.Module, module: nn.Module, width: int) -> nn.Module | None:
    """The module that maps the heads of an attention module, `width` wide, to the hidden state."""
    known = _seen.get(module)
    found = None if known is None else known()
    return _by_name(model, module, width) if found is None else found


def output_projection(model: nn.Module, module: nn.Module, width: int) -> Tensor | None:
    """width × hidden weight of the projection of an attention module's heads; None if not found.

    `width` is heads × head size.
    """
    found = projection_module(model, module, width)
    return None if found is None else weight_of(found)


def weight_of(linear: nn.Module) -> Tensor:
    """inputs × outputs: the weight of a linear map, whichever way round its module keeps it."""
    weight: Any = linear.weight
    if not stored_plainly(weight):
        return _tried(linear)
    # GPT-2's Conv1D keeps its weight the other way round
    return weight.detach() if type(linear).__name__ == "Conv1D" else weight.detach().T


@torch.no_grad()
def _tried(linear: nn.Module) -> Tensor:
    """What a module does to each direction: quantised weights and those on disk tell no other way.

    The difference of both signs is free of the bias, and of what rounding makes of a zero vector.
    """
    weight: Any = linear.weight
    hook: Any = getattr(linear, "_hf_hook", None)
    where = getattr(hook, "execution_device", None)
    every = torch.eye(
        inputs_of(linear),
        dtype=weight.dtype if weight.is_floating_point() else torch.float32,
        device=weight.device if where is None else where,
    )
    return (linear.forward(every) - linear.forward(-every)) / 2


def head_norms(weight: Tensor, values: Tensor, heads: int) -> Tensor:
    """b h s: ‖v_j W_h‖ for values b g s d and the projection's weight (h·d × hidden).

    The norm needs only the d × d matrix W_h W_hᵀ of each head, never the projected vectors.
    """
    batch, groups, keys, dim = values.shape
    per_head = weight.float().reshape(heads, dim, -1)
    gram = per_head @ per_head.transpose(1, 2)  # h d d
    spread = values.float().repeat_interleave(heads // groups, dim=1)  # b h s d
    squared = (torch.einsum("bhsd,hde->bhse", spread, gram) * spread).sum(-1)
    return squared.clamp_min(0).sqrt().view(batch, heads, keys)


def _by_name(model: nn.Module, module: nn.Module, width: int) -> nn.Module | None:
    """In the module itself, or, as in BERT, in a neighbour called `output`."""
    for home in (module, _parent(model, module)):
        if home is None:
            continue
        for name in NAMES:
            child = getattr(home, name, None)
            if isinstance(child, nn.Module) and child is not module:
                for part in child.modules():
                    if _is_linear(part) and inputs_of(part) == width:
                        return part
    return None


def inputs_of(linear: nn.Module) -> int:
    """The input width of a linear map; a packed weight's shape does not tell it."""
    own: Any = getattr(linear, "in_features", None)
    weight: Any = linear.weight
    return int(weight.shape[0] if own is None else own)


def _is_linear(module: nn.Module) -> bool:
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor) or weight.dim() != 2:
        return False
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def same_numbers(a: Tensor, b: Tensor, least: float | None = None) -> bool:
    """Equal up to rounding by another order of sums, or up to `least` of the largest number."""
    if a.shape != b.shape:
        return False
    scale = float(b.detach().abs().max().clamp(min=1e-6))
    if least is None:
        least = 1e-4 if b.dtype == torch.float32 else 2e-2  # half precision sums in its own way
    return bool(torch.all((a.detach() - b).abs() <= least * scale))


def _parent(model: nn.Module, module: nn.Module) -> nn.Module | None:
    for candidate in model.modules():
        if any(child is module for child in candidate.children()):
            return candidate
    return None
