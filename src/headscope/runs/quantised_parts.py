"""What a quantised weight is made of: the small numbers, and the scales they stand for.

Some of it is neither a parameter nor a buffer of the model, and two weights that differ by a factor
differ in their scales alone.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn


def quantised_parts(model: nn.Module, name: str, weight: Tensor) -> list[Tensor] | None:
    """The plain tensors of a parameter by its name in the model; None where it is one itself."""
    flatten: Any = getattr(weight, "__tensor_flatten__", None)  # torchao, quanto
    if flatten is not None:
        return [
            part
            for inner in flatten()[0]
            for own in (getattr(weight, inner),)
            for part in quantised_parts(model, name, own) or [own]
        ]
    state: Any = getattr(weight, "quant_state", None)
    if state is not None:
        return _four_bits(model, name, weight, state)
    if type(weight).__name__ == "Int8Params":
        module: Any = model.get_submodule(name.rpartition(".")[0])
        scales: Any = getattr(weight, "SCB", None)  # the layer takes them over when it is first run
        return [weight.data, module.state.SCB if scales is None else scales]
    return None


def _four_bits(model: nn.Module, name: str, weight: Tensor, state: Any) -> list[Tensor]:
    """bitsandbytes' bytes and scales, the same before a processor packs them and after.

    Packing rounds the scales to bfloat16 and puts both in another order.
    """
    import torch

    scales: Any = state.absmax
    if getattr(state, "packing_format_for_cpu", False):
        layer = copy.deepcopy(model.get_submodule(name.rpartition(".")[0]))
        own: Any = layer.state_dict()[name.rpartition(".")[2]]  # unpacked where it is saved
        return [own.reshape(-1), scales.T.reshape(-1)]
    if state.nested:
        from bitsandbytes.functional import dequantize_blockwise  # pyright: ignore

        scales = dequantize_blockwise(scales, state.state2) + state.offset
    return [weight.data.reshape(-1), scales.reshape(-1).to(torch.bfloat16)]
