"""The devices and types of a model's weights, and moving them."""

from __future__ import annotations

import importlib.util
import logging
from typing import Any

import torch
from torch import nn

from headscope.errors import BadInput, HeadscopeError, first_line
from headscope.models.limits import input_embeddings


def device_of(model: nn.Module) -> torch.device:
    """The device for inputs; accelerate moves offloaded weights there for each pass."""
    for holder in (model, input_embeddings(model)):
        hook: Any = getattr(holder, "_hf_hook", None)
        device = getattr(hook, "execution_device", None)
        if device is not None:
            return torch.device(device)
    return next(model.parameters()).device


def plain_values(weights: torch.Tensor) -> torch.Tensor:
    """Weights as plain numbers: torchao's quantised class supports few operations."""
    weights = weights.detach()
    own = type(weights) in (torch.Tensor, nn.Parameter)
    return weights if own or not hasattr(weights, "dequantize") else weights.dequantize()


def check_loaded(model: nn.Module) -> None:
    """Raise an error for weights on the meta device, unless accelerate fetches their values."""
    on_meta = (name for name, one in model.named_parameters() if one.is_meta)
    hollow = next((name for name in on_meta if not _is_fetched(model, name)), None)
    if hollow is not None and not hasattr(model, "hf_device_map"):
        raise BadInput(
            f"The weights of this model are not loaded ({hollow} is on the meta device); "
            "load them with from_pretrained, or give hs.load the model's folder."
        )


def _is_fetched(model: nn.Module, parameter: str) -> bool:
    """Whether a hook of accelerate (cpu_offload, disk_offload) brings it for each pass."""
    parts = parameter.split(".")[:-1]
    holders = (".".join(parts[:depth]) for depth in range(len(parts) + 1))
    return any(hasattr(model.get_submodule(name), "_hf_hook") for name in holders)


def on_device(
    model: nn.Module, device: str | torch.device | None, dtype: torch.dtype | str | None
) -> nn.Module:
    """The model on a device and in a dtype; None leaves either unchanged."""
    kind = dtype_of(dtype)
    asked = {"device": device, "dtype": kind}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    try:
        return model.to(**given) if given else model
    except (RuntimeError, AssertionError, AttributeError, TypeError, ValueError) as error:
        if "at start of device string" in str(error):  # it lists every possible device
            raise no_device(device) from error
        if device is None:
            raise BadInput(
                f"The dtype {dtype!r} cannot be used here ({first_line(error)}); leave it out."
            ) from error
        kept = "" if dtype is None else f" with dtype {dtype!r}"
        raise BadInput(
            f"The device {str(device)!r}{kept} cannot be used here ({first_line(error)}); "
            "try device='cpu'."
        ) from error


def no_device(asked: object) -> BadInput:
    where: Any = asked.get("", asked) if isinstance(asked, dict) else asked  # pyright: ignore
    return BadInput(
        f"The device {str(where)!r} cannot be used here (there is no such device); "
        "try device='cpu'."
    )


def dtype_of(dtype: torch.dtype | str | None) -> torch.dtype | None:
    """A floating-point type by its name in torch."""
    if dtype is None or isinstance(dtype, torch.dtype):
        found = dtype
    else:
        found = getattr(torch, str(dtype), None)
        if not isinstance(found, torch.dtype):
            raise BadInput(
                f"There is no dtype {dtype!r}; use float32, float16, bfloat16 or float64, or for a "
                "model's name or folder 8bit or 4bit."
            )
    if found is not None and not found.is_floating_point:
        raise BadInput(f"Weights cannot be {dtype}; use float32, float16, bfloat16 or float64.")
    return found


# Weights of 8 and 4 bits, by the quantisers that transformers drives.

BITS = ("8bit", "4bit")  # names of a dtype beside torch's own
_PACKED = "support_avx512bf16_for_cpu"  # bitsandbytes: a layer packs its weights on its first run


def quantised_options(bits: str) -> dict[str, Any]:
    """The options of from_pretrained for such weights; all others are in bfloat16."""
    if importlib.util.find_spec("bitsandbytes") is None:
        raise BadInput(
            f"Weights of {bits} need the package bitsandbytes; run: pip install 'headscope[bits]'."
        )
    from transformers import BitsAndBytesConfig

    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # a line for every product it casts
    if bits == "8bit":
        config = BitsAndBytesConfig(load_in_8bit=True)
    else:
        config = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
        )
    return {"quantization_config": config, "dtype": torch.bfloat16}


def keep_unpacked(model: nn.Module) -> None:
    """Before the first pass: a 4-bit layer that packs its weights blocks gradients."""
    for module in model.modules():
        if getattr(module, _PACKED, False):
            setattr(module, _PACKED, False)


def check_gradients(model: nn.Module) -> None:
    """Raise an error for a model whose gradients would silently be zero."""
    if any(_stops_gradients(module) for module in model.modules()):
        raise HeadscopeError(
            "Gradients do not flow back through these 4-bit weights, which "
            "bitsandbytes packs for this processor; open the model with "
            "hs.load(folder, dtype='4bit'), or use a GPU."
        )


def stored_plainly(weights: torch.Tensor) -> bool:
    """Whether a tensor holds the numbers it stands for: not quantised, not kept elsewhere."""
    own = type(weights) in (torch.Tensor, nn.Parameter)
    return own and weights.is_floating_point() and not weights.is_meta


def _stops_gradients(module: nn.Module) -> bool:
    weight: Any = getattr(module, "weight", None)
    packs = bool(getattr(module, _PACKED, False))
    return packs and weight is not None and weight.device.type == "cpu"
