"""Which neurons of q and k rotate with position, in which pairs.

Rotary positions rotate neurons in pairs. Families differ in how many neurons rotate (only some in
GPT-NeoX and Phi), which (the last ones in DeepSeek) and how they are paired; the pairing is found
by running the family's own function.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from torch import nn

from headscope.capture import Call

Pairing = Literal["halves", "neighbours"]
_TURNS = ("rotate_half", "rotate_every_two")


@dataclass(frozen=True)
class Rotary:
    """`dim` neurons from `start` on turn: neuron i with i + dim/2, or 2i with 2i + 1."""

    dim: int | None = None  # None: all of them
    pairing: Pairing = "halves"
    start: int = 0

    def groups(self, width: int) -> tuple[tuple[int, ...], ...]:
        """The pairs, then every neuron that does not rotate, alone."""
        dim = width if self.dim is None else self.dim
        first, half = self.start, dim // 2
        if self.pairing == "halves":
            pairs = [(first + i, first + i + half) for i in range(half)]
        else:
            pairs = [(first + 2 * i, first + 2 * i + 1) for i in range(half)]
        paired = {neuron for pair in pairs for neuron in pair}
        return (*pairs, *((neuron,) for neuron in range(width) if neuron not in paired))


def neuron_groups(rotary: Rotary | None, width: int) -> tuple[tuple[int, ...], ...]:
    """Groups of neurons: rotating pairs, else each alone."""
    if rotary is None:
        return tuple((neuron,) for neuron in range(width))
    return rotary.groups(width)


def rotary_of(call: Call) -> Rotary | None:
    """How the q and k of a call were rotated; None if positions do not rotate them."""
    module: Any = call.module
    configuration = getattr(module, "config", None)
    if call.q is None or call.kind == "cross" or not _turns(module, configuration):
        return None
    width = call.q.shape[-1]
    plain = getattr(configuration, "qk_nope_head_dim", None)
    turned = getattr(configuration, "qk_rope_head_dim", None)
    if isinstance(plain, int) and isinstance(turned, int) and plain + turned == width:
        return Rotary(turned, pairing_of(module), plain)
    dim = getattr(module, "rotary_ndims", None) or getattr(configuration, "rotary_dim", None)
    if not isinstance(dim, int):
        dim = int(width * _share(configuration))
    return Rotary(None if dim >= width else dim, pairing_of(module))


def pairing_of(module: nn.Module) -> Pairing:
    """Neuron 0's partner, by the rotation function in the module's own file."""
    home = sys.modules.get(type(module).__module__)
    for name in _TURNS:
        turn: Any = getattr(home, name, None)
        if turn is not None:
            made = turn(torch.arange(8.0)[None, None, None] + 1)
            return "neighbours" if float(made.flatten()[0]) == -2.0 else "halves"
    return "neighbours"  # as complex numbers (Llama 4), or by hand (RoFormer)


def _turns(module: Any, configuration: Any) -> bool:
    known = ("rope_parameters", "rope_theta", "rotary_dim")
    by_name = getattr(configuration, "position_embedding_type", None) == "rotary"  # ESM
    return (
        by_name
        or hasattr(module, "rotary_value")  # RoFormer
        or any(getattr(configuration, name, None) for name in known)
    )


def _share(configuration: Any) -> float:
    """The rotating share of a head; parameters may differ by kind of layer."""
    parameters = getattr(configuration, "rope_parameters", None)
    given = cast("dict[str, Any]", parameters) if isinstance(parameters, dict) else {}
    nested = [cast("dict[str, Any]", one) for one in given.values() if isinstance(one, dict)]
    for one in (given, *nested):
        if "partial_rotary_factor" in one:
            return float(one["partial_rotary_factor"])
    return float(getattr(configuration, "partial_rotary_factor", None) or 1.0)


def stored(rotary: Rotary | None) -> dict[str, Any] | None:
    """As plain values, for a file or a page."""
    if rotary is None:
        return None
    return {"dim": rotary.dim, "pairing": rotary.pairing, "start": rotary.start}


def restored(given: Any) -> Rotary | None:
    """From a file; older files only say that neurons rotate."""
    if not given:
        return None
    return Rotary() if given is True else Rotary(**given)
