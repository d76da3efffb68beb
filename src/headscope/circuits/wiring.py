"""What in a model writes into the residual stream, found by running it on a few tokens.

Inside a layer every module with weights of its own, norms apart, is a cut: what it gives is taken
as given. A cut whose output still reaches the model's answer is a writer: the output projection
of some heads, or the last map of an MLP. No family is named here.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture import Call, Kind
from headscope.capture.output_projection import projection_module
from headscope.circuits.frozen_norm import is_norm
from headscope.edits.sweep.layers import Stack, find_stack
from headscope.errors import HeadscopeError
from headscope.reading.describe import trial_inputs

if TYPE_CHECKING:
    from headscope.reading import Scope


@dataclass(frozen=True)
class Projection:
    """Where the heads of one attention module are written from."""

    kind: Kind
    layer: int
    heads: int


@dataclass(frozen=True)
class Wiring:
    """The stack that answers, its cuts by layer, and which of them write."""

    stack: Stack
    cuts: tuple[tuple[nn.Module, ...], ...]  # per layer
    writers: frozenset[int]  # by identity of the module
    projections: dict[int, Projection]  # by identity of the module
    norms: tuple[nn.Module, ...]

    def layer_of(self, module: nn.Module) -> int | None:
        for number, layer in enumerate(self.stack.layers):
            if any(part is module for part in layer.modules()):
                return number
        return None


_known: weakref.WeakKeyDictionary[nn.Module, Wiring] = weakref.WeakKeyDictionary()


def wiring(scope: Scope) -> Wiring:
    """The wiring of the scope's model, found once."""
    model: nn.Module = scope.model
    if model not in _known:
        _known[model] = _find(scope)
    return _known[model]


def _find(scope: Scope) -> Wiring:
    from headscope.circuits.trace import trace

    scope = type(scope)(scope.model, scope.tokenizer, scope.name, (), scope._shared)
    _ = scope.description  # watches which module takes the heads' outputs
    calls: list[Call] = []
    scope.forward(trial_inputs(scope.model), calls.append)
    kind: Kind = "decoder" if "decoder" in scope.kinds else "encoder"
    stack = find_stack(scope.model, kind, calls)
    if stack is None:
        raise HeadscopeError(
            f"{scope.name} cannot be cut into layers (one module runs several of them), so what "
            "its heads write cannot be taken apart."
        )
    cuts = tuple(tuple(_cuts(layer)) for layer in stack.layers)
    norms = tuple(module for module in scope.model.modules() if is_norm(module))
    every = frozenset(id(module) for layer in cuts for module in layer)
    projections = _projections(scope.model, calls)
    first = Wiring(stack, cuts, every, projections, norms)
    with torch.enable_grad():
        traced = trace(scope, first, trial_inputs(scope.model))
        answer = _all_answers(scope, traced.output)
        leaves = [leaf for leaf in traced.leaves if leaf.module is not None]
        values = [leaf.value for leaf in leaves]
        slopes: Any = torch.autograd.grad(answer, values, allow_unused=True)
    writers = frozenset(
        id(leaf.module) for leaf, slope in zip(leaves, slopes, strict=True) if slope is not None
    )
    kept = {at: one for at, one in projections.items() if at in writers}
    return Wiring(stack, cuts, writers, kept, norms)


def _cuts(layer: nn.Module) -> list[nn.Module]:
    return [
        module
        for module in layer.modules()
        if not is_norm(module) and any(True for _ in module.parameters(recurse=False))
    ]


def _projections(model: nn.Module, calls: list[Call]) -> dict[int, Projection]:
    found: dict[int, Projection] = {}
    for call in calls:
        size = call.v.shape[-1] if call.v is not None else _head_size(model, call)
        module = projection_module(model, call.module, call.heads * size)
        if module is not None:
            found[id(module)] = Projection(call.kind, call.layer, call.heads)
    return found


def _head_size(model: Any, call: Call) -> int:
    """Of a family read at its softmax: the hidden size shared out among the heads."""
    hidden = getattr(model.config, "hidden_size", None)
    return int(hidden or model.get_input_embeddings().weight.shape[-1]) // call.heads


def _all_answers(scope: Scope, output: Any) -> Tensor:
    for name in ("prediction_logits", "logits", "last_hidden_state"):
        found = getattr(output, name, None)
        if isinstance(found, Tensor):
            return found.float().sum()
    raise HeadscopeError(f"{scope.name} gives nothing that its heads could have made.")
