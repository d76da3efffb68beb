"""Gradients at the gates of heads, one layer at a time for long texts.

A backward pass needs everything that layers computed, some twenty numbers per input number: too
much for a long text. So a forward pass keeps each layer's input; then each layer, from the last to
the first, runs again alone and gives its gradients.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headscope.capture import Call, Kind, Output
from headscope.capture.call import Answer, Sink
from headscope.capture.stack import (
    Stack,
    find_stack,
    hidden_of,
    replace_hidden,
    with_hidden,
)
from headscope.errors import BadInput
from headscope.interrupts import safe_point, stopped_safely
from headscope.models.own_thread import forward_of, standing_in
from headscope.reading.describe import trial_inputs
from headscope.reading.passes import edits_first

if TYPE_CHECKING:
    from headscope.reading import Scope

LONG = 4096  # texts with more tokens are processed layer by layer
Gates = dict[tuple[Kind, int], Tensor]  # each of ones that require gradients
Loss = Callable[[Any], Tensor]


def slopes_at(
    scope: Scope, inputs: Mapping[str, Tensor], loss: Loss, gate: Sink, gates: Gates, **options: Any
) -> Gates:
    """∂loss at every gate; `gate` puts one on each call and stores it in `gates`."""
    ids = inputs.get("input_ids")
    long = ids is not None and ids.shape[0] == 1 and ids.shape[-1] >= LONG
    stack = layers_by_themselves(scope) if long else None
    way = _at_once if stack is None else _by_layer(stack)
    return way(scope, inputs, loss, gate, gates, **options)


@torch.enable_grad()
def _at_once(
    scope: Scope, inputs: Mapping[str, Tensor], loss: Loss, gate: Sink, gates: Gates, **options: Any
) -> Gates:
    lost = loss(scope.forward(inputs, gate, lazy=True, gradients=True, **options))
    if not gates:
        raise BadInput(
            f"{scope.name} computes no attention of the chosen kind= on these inputs, "
            "so no head can be ranked; choose another kind=."
        )
    slopes = torch.autograd.grad(lost, list(gates.values()), materialize_grads=True)
    return dict(zip(gates, slopes, strict=True))


def _by_layer(stack: Stack) -> Callable[..., Gates]:
    @stopped_safely()
    @torch.enable_grad()
    def slopes(
        scope: Scope,
        inputs: Mapping[str, Tensor],
        loss: Loss,
        gate: Sink,
        gates: Gates,
        **options: Any,
    ) -> Gates:
        entered = _Entered()
        if scope.accepts("use_cache"):  # a layer run again would find its own keys in the cache
            options["use_cache"] = False
        with contextlib.ExitStack() as undo:
            for layer in stack.layers:
                undo.enter_context(standing_in(layer, entered.instead_of(forward_of(layer))))
            # under capture as below, so that masks are made in the same form
            output = scope.forward(inputs, lambda call: None, lazy=True, gradients=True, **options)
        assert entered.last is not None
        (slope,) = torch.autograd.grad(loss(output), [entered.last])
        del output
        entered.last = None
        found: Gates = {}
        with dataclasses.replace(scope, edits=()).capture(_placed(scope, stack, gate), lazy=True):
            for layer in reversed(stack.layers):
                safe_point()
                args, kwargs = entered.given.pop()
                hidden = hidden_of(args or (kwargs["hidden_states"],)).requires_grad_()
                # some layers add to their input in place, which a leaf would refuse
                args, kwargs = replace_hidden(args, kwargs, lambda _, own=hidden: own.clone())
                gates.clear()
                made = hidden_of(layer(*args, **kwargs))
                slope, *own = torch.autograd.grad(
                    made, [hidden, *gates.values()], slope, materialize_grads=True
                )
                found |= dict(zip(gates, own, strict=True))
        return {at: found[at] for at in sorted(found)}

    return slopes


class _Entered:
    """Records each layer's input while layers run without a graph."""

    def __init__(self) -> None:
        self.given: list[tuple[Any, Any]] = []
        self.last: Tensor | None = None  # the last layer's output, where gradients begin

    def instead_of(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            self.given.append(replace_hidden(args, kwargs, Tensor.detach))
            with torch.no_grad():
                output = forward(*args, **kwargs)
            self.last = hidden_of(output).detach().requires_grad_()
            return with_hidden(output, self.last.clone())

        return run


def _placed(scope: Scope, stack: Stack, gate: Sink) -> Sink:
    """The scope's edits and then the gate, with calls renumbered by layer, because a layer that
    runs alone always counts as the first."""
    edited = edits_first(scope.edits, gate)

    def show(call: Call) -> Answer:
        layer = stack.layer_of(call)
        return edited(call if layer is None else dataclasses.replace(call, layer=layer))

    return show


def layers_by_themselves(scope: Scope) -> Stack | None:
    """The layers of a model that can be run one by one; None if they cannot.

    Tested on a few tokens, where both ways must agree: a layer may pass on more than its hidden
    states.
    """
    if "layers by themselves" not in scope.shared:
        scope.shared["layers by themselves"] = _tried(dataclasses.replace(scope, edits=()))
    return scope.shared["layers by themselves"]


def _tried(scope: Scope) -> Stack | None:
    calls: list[Call] = []
    inputs = trial_inputs(scope.model)
    scope.forward(inputs, calls.append, lazy=True)
    stack = find_stack(scope.model, scope.kinds[0], calls)
    if stack is None or len(scope.kinds) > 1:
        return None
    gates: Gates = {}

    def gate(call: Call) -> Answer:
        like = call.weights if call.q is None else call.q
        one = like.new_ones(*like.shape[:2], 1, 1).requires_grad_()
        gates[call.kind, call.layer] = one
        if call.again is None or call.q is None:
            return call.weights * one
        return Output(call.again(call.q).output() * one.transpose(1, 2))

    def size(output: Any) -> Tensor:
        first = next(one for one in output.values() if isinstance(one, Tensor))
        return first.float().square().mean()

    try:
        whole = _at_once(scope, inputs, size, gate, gates)
        gates.clear()
        apart = _by_layer(stack)(scope, inputs, size, gate, gates)
    except Exception:  # a layer that cannot run alone: use a plain backward pass
        return None
    return stack if whole.keys() == apart.keys() and _alike(whole, apart) else None


def _alike(whole: Gates, apart: Gates) -> bool:
    half = any(one.dtype in (torch.float16, torch.bfloat16) for one in whole.values())
    largest = max(float(one.abs().max()) for one in whole.values())
    most = max(float((whole[at] - apart[at]).abs().max()) for at in whole)
    return most <= (5e-2 if half else 1e-3) * largest
