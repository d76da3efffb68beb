"""The outputs of each part on the clean prompt, kept to be patched into the other run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture import Call
from headscope.capture.stack import hidden_of, with_hidden
from headscope.circuits.wiring import Wiring
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import only_here

if TYPE_CHECKING:
    from headscope.reading import Scope

KeepActivation = Callable[[str, int, Tensor], Tensor]


@dataclass
class Donor:
    """By layer of the stack: head outputs, calls, MLP outputs and hidden states."""

    heads: dict[int, Tensor] = field(default_factory=dict[int, Tensor])  # b t h d
    calls: dict[int, Call] = field(default_factory=dict[int, Call])
    mlps: dict[int, Tensor] = field(default_factory=dict[int, Tensor])  # b t m
    hidden: dict[int, Tensor] = field(default_factory=dict[int, Tensor])  # b t m
    output: Any = None
    gates: dict[tuple[str, int], Tensor] = field(default_factory=dict[tuple[str, int], Tensor])

    def laid_out(self, length: int, clean: list[Tensor], corrupted: list[Tensor]) -> Donor:
        """The outputs at the corrupted prompts' positions, each named position (b) moved there.

        Outputs of other positions are not used.
        """

        def moved(given: dict[int, Tensor]) -> dict[int, Tensor]:
            found: dict[int, Tensor] = {}
            for layer, tensor in given.items():
                rows = torch.arange(len(tensor), device=tensor.device)
                made = tensor.new_zeros(len(tensor), length, *tensor.shape[2:])
                for here, there in zip(clean, corrupted, strict=True):
                    made[rows, there] = tensor[rows, here]
                found[layer] = made
            return found

        return Donor(moved(self.heads), {}, moved(self.mlps), moved(self.hidden), self.output)


def record(
    scope: Scope,
    wiring: Wiring,
    inputs: dict[str, Tensor],
    *,
    calls: bool = False,
    gates: bool = False,
) -> Donor:
    """Record one pass; `gates` adds to every recorded tensor a zero that gradients reach."""
    found = Donor()

    def kept(name: str, layer: int, tensor: Tensor) -> Tensor:
        getattr(found, name)[layer] = tensor.detach()
        if not gates:
            return tensor
        nothing = found.gates[name, layer] = torch.zeros_like(tensor, requires_grad=True)
        return tensor + nothing

    with stopped_safely(), contextlib.ExitStack() as undo:
        for layer, cuts in enumerate(wiring.cuts):
            hook = wiring.stack.layers[layer].register_forward_hook(
                only_here(_of_layer(layer, kept))
            )
            undo.callback(hook.remove)
            for module in cuts:
                if id(module) not in wiring.writers:
                    continue
                projection = wiring.projections.get(id(module))
                if projection is None:
                    hook = module.register_forward_hook(only_here(_of_mlp(layer, kept)))
                elif projection.kind == wiring.stack.kind:
                    heads = projection.heads
                    hook = module.register_forward_pre_hook(
                        only_here(_of_heads(layer, heads, kept))
                    )
                else:
                    continue
                undo.callback(hook.remove)

        def note(call: Call) -> None:
            if call.kind == wiring.stack.kind:
                found.calls[call.layer] = call

        found.output = scope.forward(inputs, note if calls else None, lazy=True, gradients=gates)
    return found


def _of_heads(layer: int, heads: int, kept: KeepActivation) -> Any:
    def hook(module: nn.Module, given: Any) -> Any:
        flat: Tensor = given[0]
        apart = flat.reshape(*flat.shape[:2], heads, -1)
        return (kept("heads", layer, apart).reshape(flat.shape), *given[1:])

    return hook


def _of_mlp(layer: int, kept: KeepActivation) -> Any:
    def hook(module: nn.Module, given: Any, output: Any) -> Any:
        return kept("mlps", layer, output) if isinstance(output, Tensor) else output

    return hook


def _of_layer(layer: int, kept: KeepActivation) -> Any:
    def hook(module: nn.Module, given: Any, output: Any) -> Any:
        return with_hidden(output, kept("hidden", layer, hidden_of(output)))

    return hook
