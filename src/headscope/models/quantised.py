"""Weights of 8 and 4 bits, by the quantisers that transformers drives."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from headscope.errors import BadInput, HeadscopeError

# what of from_pretrained's arguments says where weights lie and what of them is kept
PLACING = ("device_map", "max_memory", "offload_folder", "offload_buffers", "quantization_config")
BITS = ("8bit", "4bit")  # what a dtype may be called beside torch's own names
_PACKED = "support_avx512bf16_for_cpu"  # bitsandbytes: whether a layer packs itself when it is run


def quantised_options(bits: str) -> dict[str, Any]:
    """What from_pretrained takes for weights of so few bits; all that stays is in bfloat16."""
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


def check_placing(pretrained: Mapping[str, Any]) -> None:
    """A name that from_pretrained knows would otherwise hold for the weights alone."""
    unknown = next((name for name in pretrained if name not in PLACING), None)
    if unknown is not None:
        raise BadInput(
            f"hs.load takes no {unknown}; it hands on {', '.join(PLACING)}. For anything else open "
            "the model with transformers, and give hs.load the model and its tokenizer."
        )


def keep_unpacked(model: nn.Module) -> None:
    """Before its first pass: a 4-bit layer that packs itself lets no gradient through."""
    for module in model.modules():
        if getattr(module, _PACKED, False):
            setattr(module, _PACKED, False)


def check_gradients(model: nn.Module) -> None:
    """Refuse a model whose gradients would be zeros, in silence."""
    if any(_stops_gradients(module) for module in model.modules()):
        raise HeadscopeError(
            "No gradient comes back through these 4-bit weights, which bitsandbytes packs for this "
            "processor; open the model with hs.load(folder, dtype='4bit'), or use a GPU."
        )


def stored_plainly(weights: torch.Tensor) -> bool:
    """Whether a tensor holds the numbers it stands for: not quantised, not kept elsewhere."""
    own = type(weights) in (torch.Tensor, nn.Parameter)
    return own and weights.is_floating_point() and not weights.is_meta


def _stops_gradients(module: nn.Module) -> bool:
    weight: Any = getattr(module, "weight", None)
    packs = bool(getattr(module, _PACKED, False))
    return packs and weight is not None and weight.device.type == "cpu"
