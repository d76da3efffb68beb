"""The values of families that compute attention themselves, read where the module has them.

By the time such a module takes its softmax its values lie ready in a variable; there is only so
much that authors call it. What is found must have the shape of values of this very softmax, and
`tests/contracts/test_families.py` holds it to what the model multiplies.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

# a module's variable, and which of its axes are batch, head, key and neuron
_NAMES: dict[str, tuple[int, int, int, int]] = {
    "value_layer": (0, 1, 2, 3),
    "main_value_states": (0, 1, 2, 3),
    "value_states": (0, 1, 2, 3),
    "v_head_h": (1, 2, 0, 3),  # XLNet
    "v_head": (0, 2, 1, 3),  # Funnel
    "value": (0, 1, 2, 3),
    "v": (0, 1, 2, 3),
}
_DEEP = 12  # frames between a module's code and the softmax it takes


def values_in(frame: Any, module: nn.Module, weights: Tensor) -> Tensor | None:
    """b g s d: the values that these weights (b h t s) will be multiplied with; None if unknown."""
    for _ in range(_DEEP):
        if frame is None:
            return None
        known = frame.f_locals
        if known.get("self") is module:
            return next(
                (
                    found
                    for name, axes in _NAMES.items()
                    if (found := _with_heads(known.get(name), axes, weights)) is not None
                ),
                None,
            )
        frame = frame.f_back
    return None


def _with_heads(found: object, axes: tuple[int, int, int, int], weights: Tensor) -> Tensor | None:
    if not isinstance(found, Tensor):
        return None
    batch, heads, _, keys = weights.shape
    if found.dim() == 3 and tuple(found.shape[:2]) == (batch * heads, keys):
        return found.reshape(batch, heads, keys, -1)  # heads folded into the batch
    if found.dim() != 4:
        return None
    values = found.permute(*axes)
    fits = values.shape[0] == batch and values.shape[2] == keys and heads % values.shape[1] == 0
    return values if fits else None
