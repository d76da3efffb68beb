"""Where a model's weights lie, and putting them somewhere else."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from headscope.errors import BadInput, first_line
from headscope.models.embeddings import input_embeddings


def device_of(model: nn.Module) -> torch.device:
    """Where inputs have to be; weights that accelerate keeps elsewhere come there for each pass."""
    for holder in (model, input_embeddings(model)):
        hook: Any = getattr(holder, "_hf_hook", None)
        device = getattr(hook, "execution_device", None)
        if device is not None:
            return torch.device(device)
    return next(model.parameters()).device


def plain_values(weights: torch.Tensor) -> torch.Tensor:
    """Weights as numbers: quantised ones (torchao's) are a class that knows few operations."""
    weights = weights.detach()
    own = type(weights) in (torch.Tensor, nn.Parameter)
    return weights if own or not hasattr(weights, "dequantize") else weights.dequantize()


def check_loaded(model: nn.Module) -> None:
    """Weights on the meta device have shapes and no values, unless accelerate fetches them."""
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


def place(
    model: nn.Module, device: str | torch.device | None, dtype: torch.dtype | str | None
) -> nn.Module:
    """The model on a device and in a dtype, each left alone when None."""
    kind = dtype_of(dtype)
    asked = {"device": device, "dtype": kind}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    try:
        return model.to(**given) if given else model
    except (RuntimeError, AssertionError, AttributeError, TypeError, ValueError) as error:
        if "at start of device string" in str(error):  # it lists every device there could be
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
