"""Masks and positional biases in their shortest exact form."""

from __future__ import annotations

from headscope.reading.weights.held import Bias, Mask
from headscope.views.wire.container import Buffers
from headscope.views.wire.packing import pack_bits, pack_numbers

SentMask = str | dict[str, int | bool] | dict[str, str]


def describe_mask(mask: Mask | None, name: str, buffers: Buffers) -> SentMask:
    """A rule when the mask follows one, else its bits."""
    if mask is None:
        return "none"
    if mask.bits is not None:
        return buffers.add(name, pack_bits(mask.bits.numpy()))
    if mask.window is None:
        return "causal"
    return {"window": mask.window, "causal": mask.causal}


def describe_bias(bias: Bias | None, name: str, buffers: Buffers) -> dict[str, str] | None:
    """One that depends on the distance alone is sent as one number a distance."""
    if bias is None:
        return None
    form = "relative" if bias.relative else "dense"
    return buffers.add(name, pack_numbers(bias.values.numpy())) | {"form": form}
