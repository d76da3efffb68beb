"""One pass in which a model's answer is a plain sum of what was written into its stream.

Norms stand frozen, and what every module with weights gives is taken as given, so that between
the writers and the answer only additions and linear maps remain. The numbers are the model's own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture import Call, Kind
from headscope.circuits.frozen_norm import FrozenNorm
from headscope.edits.sweep.layers import hidden_of, replace_hidden, standing_in
from headscope.interrupts import stopped_safely

if TYPE_CHECKING:
    from headscope.circuits.wiring import Wiring
    from headscope.reading import Scope


@dataclass(frozen=True)
class Leaf:
    """One thing written into the stream: an embedding, a writer's output, or a norm's bias."""

    layer: int | None  # None: before the first layer or after the last
    module: nn.Module | None
    value: Tensor  # b t hidden, or a bias
    given: Tensor | None  # what the writer was given: the heads' outputs, for a projection


@dataclass
class Trace:
    output: Any = None
    leaves: list[Leaf] = field(default_factory=list[Leaf])
    calls: dict[tuple[Kind, int], Call] = field(default_factory=dict[tuple[Kind, int], Call])
    hidden: list[Tensor] = field(default_factory=list[Tensor])  # after every layer, b t d


def trace(
    scope: Scope,
    wiring: Wiring,
    inputs: Mapping[str, Tensor],
    at: int | None = None,
    wrapped: nn.Module | None = None,
) -> Trace:
    """Run the scope's model under its edits; gradients reach the leaves and nothing else.

    With `at`, the output layer `wrapped` is run at that position alone.
    """
    found = Trace()
    layers = wiring.stack.layers
    with stopped_safely(), contextlib.ExitStack() as undo:
        undo.enter_context(torch.enable_grad())
        first = layers[0].register_forward_pre_hook(_begin(found), with_kwargs=True)
        undo.callback(first.remove)
        for layer in layers:
            handle = layer.register_forward_hook(_keep(found))
            undo.callback(handle.remove)
        for number, cuts in enumerate(wiring.cuts):
            for module in cuts:
                writes = id(module) in wiring.writers
                undo.enter_context(
                    standing_in(module, _cut(found, number, module, writes, module.forward))
                )
        for norm in wiring.norms:
            undo.enter_context(standing_in(norm, FrozenNorm(norm, _bias(found, wiring, norm))))
        if at is not None and wrapped is not None:
            undo.enter_context(standing_in(wrapped, _only(at, wrapped.forward)))
        found.output = scope.forward(inputs, _seen(found), lazy=True, gradients=True)
    return found


def _begin(found: Trace) -> Callable[..., Any]:
    def begin(module: nn.Module, args: Any, kwargs: Any) -> Any:
        def leaf(hidden: Tensor) -> Tensor:
            start = hidden.detach().requires_grad_()
            found.leaves.append(Leaf(None, None, start, None))
            return start.clone()

        return replace_hidden(args, kwargs, leaf)

    return begin


def _keep(found: Trace) -> Callable[..., None]:
    def keep(module: nn.Module, given: Any, output: Any) -> None:
        found.hidden.append(hidden_of(output).detach())

    return keep


def _cut(
    found: Trace, layer: int, module: nn.Module, writes: bool, forward: Callable[..., Any]
) -> Callable[..., Any]:
    def cut(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            output = forward(*args, **kwargs)
        if not writes or not isinstance(output, Tensor) or not output.is_floating_point():
            return output
        value = output.detach().requires_grad_()
        given = args[0].detach() if args and isinstance(args[0], Tensor) else None
        found.leaves.append(Leaf(layer, module, value, given))
        return value.clone()  # some layers add to it in place, which a leaf would refuse

    return cut


def _bias(found: Trace, wiring: Wiring, norm: nn.Module) -> Callable[[Tensor], None]:
    layer = wiring.layer_of(norm)

    def note(bias: Tensor) -> None:
        found.leaves.append(Leaf(layer, None, bias, None))

    return note


def _only(at: int, forward: Callable[..., Any]) -> Callable[..., Any]:
    def only(hidden: Tensor, *args: Any, **kwargs: Any) -> Any:
        return forward(hidden[:, at : at + 1], *args, **kwargs)

    return only


def _seen(found: Trace) -> Callable[[Call], None]:
    def see(call: Call) -> None:
        found.calls[call.kind, call.layer] = call

    return see
