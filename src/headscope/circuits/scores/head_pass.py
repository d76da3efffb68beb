"""One pass up to a head's attention, with every write into its stream as a leaf.

Norms are frozen at their scale and every writer's output is a constant, so the query and the key of
a position are linear in what the writers wrote at that position.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture import Call, Kind
from headscope.capture.output_projection import weight_of
from headscope.capture.stack import StoppedPass, replace_hidden
from headscope.circuits.frozen_norm import FrozenNorm, NormCall
from headscope.circuits.scores.writers import Part, Writer
from headscope.errors import BadInput, HeadscopeError
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import forward_of, only_here, standing_in

if TYPE_CHECKING:
    from headscope.circuits.wiring import Projection, Wiring
    from headscope.reading import Scope


@dataclass(frozen=True)
class Leaf:
    """One write: `value` at the kept rows (1 r hidden), or a bias of a norm or map."""

    value: Tensor
    writer: Writer
    given: Tensor | None = None  # 1 r h·d: the heads' outputs, for an output projection
    projection: Projection | None = None
    weight: Tensor | None = None  # h·d hidden, of that projection
    in_start: bool = False  # before the first layer
    module: nn.Module | None = None  # whose output it is


@dataclass
class HeadPass:
    """A pass up to one layer's attention: its call, and the leaves that made it."""

    call: Call | None = None
    start: Tensor | None = None  # 1 t hidden: what enters the first layer
    entered: Tensor | None = None  # 1 t hidden: what enters the head's layer, in the pass's graph
    leaves: list[Leaf] = field(default_factory=list[Leaf])
    rows: Tensor | None = None
    last_norms: list[NormCall] = field(default_factory=list[NormCall])  # after the last writer


def head_pass(
    scope: Scope,
    wiring: Wiring,
    inputs: Mapping[str, Tensor],
    kind: Kind,
    layer: int,
    rows: Tensor | None,
) -> HeadPass:
    """Run the model up to the attention of a layer; writers are leaves at `rows` (None: all)."""
    stack = wiring.stack
    if kind not in (stack.kind, "cross"):
        raise BadInput(
            f"{scope.name} answers from its {stack.kind}; the scores of its {kind} cannot be "
            "decomposed here. Load the encoder as a model of its own."
        )
    found = HeadPass(rows=rows)

    def see(call: Call) -> None:
        if call.kind == kind and call.layer == layer:
            found.call = call
            raise StoppedPass

    inside = {id(part) for one in stack.layers for part in one.modules()}
    with stopped_safely(), contextlib.ExitStack() as undo:
        undo.enter_context(torch.enable_grad())
        attention = _attention(scope, wiring, kind, layer)
        own = {id(part) for part in attention.modules()}
        for name, module in scope.model.named_modules():
            if isinstance(module, nn.Embedding) and id(module) not in inside:
                undo.enter_context(
                    standing_in(module, _Table(found, module, name, forward_of(module)))
                )
        hook = stack.layers[0].register_forward_pre_hook(only_here(_begin(found)), with_kwargs=True)
        undo.callback(hook.remove)
        last = stack.layers[layer].register_forward_pre_hook(
            only_here(_entered(found)), with_kwargs=True
        )
        undo.callback(last.remove)
        for number, cuts in enumerate(wiring.cuts[: layer + 1]):
            for module in cuts:
                if id(module) not in own:
                    cut = _Cut(found, wiring, number, module, forward_of(module))
                    undo.enter_context(standing_in(module, cut))
        for norm in wiring.norms:
            frozen = FrozenNorm(norm, _note(found), note_call=found.last_norms.append)
            undo.enter_context(standing_in(norm, frozen))
        for name, bias in attention.named_parameters():
            if name.endswith("bias") and bias.dim() == 1:
                undo.callback(bias.requires_grad_, bias.requires_grad)
                bias.requires_grad_()
                found.leaves.append(Leaf(bias, Writer("bias")))
        options = {"use_cache": False} if scope.accepts("use_cache") else {}
        with contextlib.suppress(StoppedPass):
            scope.forward(inputs, see, lazy=True, gradients=True, **options)
    if found.call is None or found.call.q is None or found.call.k is None:
        raise HeadscopeError(
            f"{scope.name} does not expose the queries and keys of layer {layer}, so its scores "
            "cannot be decomposed."
        )
    if not found.call.q.requires_grad or not (kind == "cross" or found.call.k.requires_grad):
        raise HeadscopeError(
            f"headscope cannot trace the queries and keys of layer {layer} of {scope.name} to "
            "earlier layers, so its scores cannot be decomposed."
        )
    return found


def _attention(scope: Scope, wiring: Wiring, kind: Kind, layer: int) -> nn.Module:
    """The module of the requested call; a decoder's layer may have another for the encoder."""
    if kind == wiring.stack.kind:
        return wiring.stack.attention[layer]
    from headscope.reading.describe import trial_inputs

    calls: list[Call] = []
    scope.forward(trial_inputs(scope.model), calls.append)
    return next(call.module for call in calls if (call.kind, call.layer) == (kind, layer))


@dataclass(frozen=True)
class _Table:
    """Replaces an embedding before the first layer."""

    found: HeadPass
    module: nn.Module
    name: str
    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            output = self.forward(*args, **kwargs)
        if self.found.start is not None or output.dim() < 2:  # a second stack's, or no row each
            return output
        name = self.name.lower()
        part: Part = "position" if "pos" in name or name.endswith("wpe") else "embedding"
        if "token_type" in name or "segment" in name:
            part = "segment"
        rows = self.found.rows
        if rows is not None and int(rows.max()) < output.shape[-2]:
            return _at_rows(self.found, output, Writer(part), rows, self.module)
        value = output.detach().requires_grad_()
        self.found.leaves.append(Leaf(value, Writer(part), in_start=True, module=self.module))
        return value.clone()


def _at_rows(
    found: HeadPass, output: Tensor, writer: Writer, rows: Tensor, module: nn.Module
) -> Tensor:
    rows = rows.to(output.device)
    value = output.detach().index_select(-2, rows).requires_grad_()
    found.leaves.append(Leaf(value, writer, in_start=True, module=module))
    return output.detach().index_copy(output.dim() - 2, rows, value)


def _begin(found: HeadPass) -> Callable[..., Any]:
    def begin(module: nn.Module, args: Any, kwargs: Any) -> Any:
        def keep(hidden: Tensor) -> Tensor:
            found.start = hidden if hidden.requires_grad else hidden.detach().requires_grad_()
            return found.start.clone()

        return replace_hidden(args, kwargs, keep)

    return begin


def _entered(found: HeadPass) -> Callable[..., Any]:
    def see(module: nn.Module, args: Any, kwargs: Any) -> Any:
        def keep(hidden: Tensor) -> Tensor:
            found.entered = hidden
            return hidden

        return replace_hidden(args, kwargs, keep)

    return see


@dataclass(frozen=True)
class _Cut:
    """Replaces a module with weights: its output becomes a constant."""

    found: HeadPass
    wiring: Wiring
    layer: int
    module: nn.Module
    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            output = self.forward(*args, **kwargs)
        at = id(self.module)
        if at not in self.wiring.writers or not isinstance(output, Tensor):
            return output
        projection = self.wiring.projections.get(at)
        whole, given = output, None
        if projection is not None and args:
            given = args[0].detach().reshape(*output.shape[:-1], -1)
        rows = self.found.rows
        start = self.found.start
        along = start is not None and output.shape[:-1] == start.shape[:-1]
        if rows is not None and along:
            rows = rows.to(output.device)
            value = output.detach()[:, rows].requires_grad_()
            given = None if given is None else given[:, rows]
            whole = output.detach().index_copy(1, rows, value)
        else:
            value = output.detach().requires_grad_()
            whole = value.clone()
        if projection is None:
            leaf = Leaf(value, Writer("mlp", None, self.layer), module=self.module)
        else:
            writer = Writer("head", projection.kind, projection.layer)
            weight = weight_of(self.module)
            leaf = Leaf(value, writer, given, projection, weight, module=self.module)
        self.found.leaves.append(leaf)
        self.found.last_norms.clear()
        return whole


def _note(found: HeadPass) -> Callable[[Tensor], None]:
    def note(bias: Tensor) -> None:
        found.leaves.append(Leaf(bias, Writer("bias"), in_start=found.start is None))

    return note
