"""A normalisation with its scale frozen: its effect on this input, as a linear map.

Layer normalisation and RMS normalisation are x ↦ γ ⊙ (x − mean) / size + β, with or without the
mean. With the size frozen the map is linear, and a logit becomes a sum. γ, β and whether the mean
is subtracted are found by running the module on three vectors, so that no family's spelling
(Gemma's 1 + γ, T5's missing β) has to be known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headscope.errors import HeadscopeError
from headscope.models.own_thread import forward_of

LARGE = 100.0  # so large that a norm's ε does not matter


def is_norm(module: nn.Module) -> bool:
    name = type(module).__name__
    if "WeightNorm" in name:  # it normalises a convolution's weights (wav2vec 2), not the stream
        return False
    return "Norm" in name and not any(True for _ in module.children())


def tried(forward: Callable[..., Any], like: Tensor) -> tuple[Tensor, Tensor, bool]:
    """γ, β, and whether the mean is subtracted, for vectors of the size of `like`'s."""
    swing = torch.ones(like.shape[-1], device=like.device)
    swing[::2] = -1.0
    swing = swing - swing.mean()
    level = torch.ones_like(swing)
    probes = torch.stack([torch.zeros_like(swing), LARGE * level, LARGE * swing])[None]
    with torch.no_grad():
        zero, flat, swung = forward(probes.to(like.dtype))[0].float()
    gain = (swung - zero) * (swing.square().mean().sqrt() / swing)
    centred = bool((flat - zero).abs().max() <= 0.1 * gain.abs().max())
    return gain, zero, centred


@dataclass(frozen=True)
class NormCall:
    """A frozen norm with its input and output in the pass's graph."""

    entered: Tensor
    left: Tensor
    norm: Callable[[Tensor], Tensor]


class FrozenNorm:
    """Replaces a norm: the same numbers, with the gradient of the frozen map."""

    def __init__(
        self,
        module: nn.Module,
        note_bias: Callable[[Tensor], None],
        *,
        each: bool = False,
        note_call: Callable[[NormCall], None] | None = None,
    ) -> None:
        self._module = module
        self._each = each  # one bias per example, so that each has its own gradient
        self._forward: Callable[..., Any] = forward_of(module)
        self._note_bias = note_bias
        self._note_call = note_call

    def __call__(self, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            y = self._forward(x, *args, **kwargs)
        if not x.requires_grad or not isinstance(y, Tensor):
            return y
        gain, shift, centred = tried(self._forward, x)
        base = x.float()
        if centred:
            base = base - base.mean(-1, keepdim=True)
        base = base * gain
        with torch.no_grad():
            wanted = y.float() - shift
            scale = (wanted * base).sum(-1, keepdim=True) / base.square().sum(-1, keepdim=True)
            scale = torch.nan_to_num(scale)
            self._check(wanted, scale * base, y.dtype)
        linear = scale * base
        if bool(shift.any()):
            several = self._each and x.dim() == 3
            bias = (shift.expand(len(x), 1, -1) if several else shift).clone().requires_grad_()
            self._note_bias(bias)
            linear = linear + bias
        made = y + (linear - linear.detach()).to(y.dtype)
        if self._note_call is not None:
            self._note_call(NormCall(x, made, lambda other: self._forward(other, *args, **kwargs)))
        return made

    def _check(self, wanted: Tensor, made: Tensor, dtype: torch.dtype) -> None:
        least = 1e-3 if dtype == torch.float32 else 5e-2
        if bool((wanted - made).norm() > least * wanted.norm().clamp(min=1e-6)):
            raise HeadscopeError(
                f"{type(self._module).__name__} is not a normalisation that can be frozen, so this "
                "model's logits cannot be decomposed."
            )
