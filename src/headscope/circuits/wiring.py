"""Which modules write into the residual stream, found by running the model on a few tokens.

Inside a layer every module with weights of its own, except norms, is a cut: its output becomes a
constant. A cut whose output reaches the model's answer is a writer: the output projection of some
heads, or the last map of an MLP. No family is named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.arguments import need_scope
from headscope.capture import Call, Kind
from headscope.capture.output_projection import projection_module
from headscope.capture.stack import Stack, find_stack
from headscope.circuits.frozen_norm import is_norm
from headscope.errors import HeadscopeError
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import only_here
from headscope.reading.ability import Ability
from headscope.reading.describe import trial_inputs

if TYPE_CHECKING:
    from headscope.reading import Scope


@dataclass(frozen=True)
class Projection:
    """The output projection of one attention module's heads."""

    kind: Kind
    layer: int
    heads: int


@dataclass(frozen=True)
class Wiring:
    """The stack that answers, its cuts by layer, and which cuts are writers."""

    stack: Stack
    cuts: tuple[tuple[nn.Module, ...], ...]  # per layer
    writers: frozenset[int]  # by identity of the module
    projections: dict[int, Projection]  # by identity of the module
    norms: tuple[nn.Module, ...]
    before_attention: dict[int, nn.Module]  # the norm that feeds an attention module
    after_projection: dict[int, nn.Module]  # the norm a projection's output goes through
    last_norm: nn.Module | None  # between the last layer and the output layer
    transformed: bool  # another module with weights is there too (BERT's transform)

    def layer_of(self, module: nn.Module) -> int | None:
        for number, layer in enumerate(self.stack.layers):
            if any(part is module for part in layer.modules()):
                return number
        return None


def wiring(scope: Scope) -> Wiring:
    """The wiring of the scope's model, found once."""
    need_scope(scope)
    return DECOMPOSED.of(scope)


def _find(scope: Scope) -> Wiring:
    from headscope.circuits.linear_pass import trace

    _ = scope.description  # watches which module takes the heads' outputs
    calls: list[Call] = []
    scope.forward(trial_inputs(scope.model), calls.append)
    kind: Kind = "decoder" if "decoder" in scope.kinds else "encoder"
    stack = find_stack(scope.model, kind, calls)
    if stack is None:
        raise HeadscopeError(
            f"{scope.name} cannot be cut into layers (one module runs several of them, or not all "
            "of them attend), so what its heads write cannot be decomposed."
        )
    cuts = tuple(tuple(_cuts(layer)) for layer in stack.layers)
    norms = tuple(module for module in scope.model.modules() if is_norm(module))
    every = frozenset(id(module) for layer in cuts for module in layer)
    projections = _projections(scope.model, calls)
    beside = (*_norms_beside(scope, stack, norms, projections), *_at_the_end(scope, stack, norms))
    first = Wiring(stack, cuts, every, projections, norms, *beside)
    with torch.enable_grad():
        traced = trace(scope, first, trial_inputs(scope.model))
        answer = _all_answers(scope, traced.output)
        _check_one_stream(scope, traced.hidden)
        leaves = [leaf for leaf in traced.leaves if leaf.module is not None]
        values = [leaf.value for leaf in leaves]
        if not values:  # I-BERT's modules pass numbers with their scales
            raise HeadscopeError(
                f"{scope.name} writes into its stream with modules headscope does not know, so "
                f"what its "
                "heads write cannot be decomposed."
            )
        slopes: Any = torch.autograd.grad(answer, values, allow_unused=True)
    writers = frozenset(
        id(leaf.module) for leaf, slope in zip(leaves, slopes, strict=True) if slope is not None
    )
    kept = {at: one for at, one in projections.items() if at in writers}
    return Wiring(stack, cuts, writers, kept, norms, *beside)


DECOMPOSED = Ability(("attribute", "mixing", "score", "with_weightings"), "decomposed", _find)


def _check_one_stream(scope: Scope, hidden: list[Tensor]) -> None:
    """Raise an error for ProphetNet, whose decoder has one stream per word ahead."""
    trial = trial_inputs(scope.model)
    tokens = trial.get("decoder_input_ids", trial.get("input_ids"))
    if tokens is not None and len(hidden[0]) != len(tokens):  # XLNet: tokens before examples
        raise HeadscopeError(
            f"{scope.name} has its batch along an axis other than the first, so what its heads "
            "write cannot be decomposed."
        )
    length = hidden[0].shape[1]
    if tokens is not None and length > tokens.shape[1] and length % tokens.shape[1] == 0:
        raise HeadscopeError(
            f"The layers of {scope.name} pass on several streams at once, so what its heads add to "
            "a prediction cannot be decomposed."
        )


def _cuts(layer: nn.Module) -> list[nn.Module]:
    """The innermost modules with weights."""
    return [
        module
        for module in layer.modules()
        if not is_norm(module)
        and any(True for _ in module.parameters(recurse=False))
        and not any(True for child in module.children() for _ in child.parameters())
    ]


def _projections(model: nn.Module, calls: list[Call]) -> dict[int, Projection]:
    found: dict[int, Projection] = {}
    for call in calls:
        size = call.v.shape[-1] if call.v is not None else _head_size(model, call)
        module = projection_module(model, call.module, call.heads * size)
        if module is not None:
            found[id(module)] = Projection(call.kind, call.layer, call.heads)
    return found


@stopped_safely()
def _norms_beside(
    scope: Scope, stack: Stack, norms: tuple[nn.Module, ...], projections: dict[int, Projection]
) -> tuple[dict[int, nn.Module], dict[int, nn.Module]]:
    """Which norm feeds each attention module, and which takes each projection's output.

    Found by the identity of the tensors passed between them. A norm outside the attention's own
    layer made the stream itself (BERT normalises after adding) and does not count as one before it.
    """
    before: dict[int, nn.Module] = {}
    after: dict[int, nn.Module] = {}
    made: list[tuple[Tensor, nn.Module]] = []  # kept alive, so that ids stay unique
    written: list[tuple[Tensor, int]] = []

    def norm_ran(module: nn.Module, given: Any, output: Any) -> None:
        made.append((output, module))
        after.update({at: module for tensor, at in written if given and tensor is given[0]})

    def attention_runs(module: nn.Module, args: Any, kwargs: Any) -> None:
        hidden = args[0] if args else kwargs.get("hidden_states")
        own = [norm for tensor, norm in made if tensor is hidden]
        layer = next(one for one in stack.layers if any(p is module for p in one.modules()))
        if own and any(part is own[-1] for part in layer.modules()):
            before[id(module)] = own[-1]

    def projection_ran(module: nn.Module, given: Any, output: Any) -> None:
        written.append((output, id(module)))

    handles = [norm.register_forward_hook(only_here(norm_ran)) for norm in norms]
    for layer in stack.layers:
        for module in layer.modules():
            if any(module is one for one in stack.attention):
                hook = module.register_forward_pre_hook(only_here(attention_runs), with_kwargs=True)
                handles.append(hook)
            if id(module) in projections:
                handles.append(module.register_forward_hook(only_here(projection_ran)))
    _run_once(scope, handles)
    return before, after


def _at_the_end(
    scope: Scope, stack: Stack, norms: tuple[nn.Module, ...]
) -> tuple[nn.Module | None, bool]:
    """The last norm between the last layer and the output layer, and whether more runs there."""
    inside = {id(part) for layer in stack.layers for part in layer.modules()}
    output_layer: Any = getattr(scope.model, "get_output_embeddings", lambda: None)()
    if output_layer is None:
        return None, False
    ran: list[nn.Module] = []
    between: list[nn.Module] = []

    def words_read(module: nn.Module, given: Any) -> None:
        between.extend(ran)

    def layers_end(module: nn.Module, given: Any, output: Any) -> None:
        ran.clear()

    def ran_after(module: nn.Module, given: Any, output: Any) -> None:
        ran.append(module)

    handles = [stack.layers[-1].register_forward_hook(only_here(layers_end))]
    for module in scope.model.modules():
        weighs = any(True for _ in module.parameters(recurse=False))
        if weighs and id(module) not in inside and module is not output_layer:
            handles.append(module.register_forward_hook(only_here(ran_after)))
    handles.append(output_layer.register_forward_pre_hook(only_here(words_read)))
    _run_once(scope, handles)
    last = [module for module in between if any(module is norm for norm in norms)]
    return last[-1] if last else None, len(between) > len(last)


def _run_once(scope: Scope, handles: list[Any]) -> None:
    try:
        scope.forward(trial_inputs(scope.model))
    finally:
        for handle in handles:
            handle.remove()


def _head_size(model: Any, call: Call) -> int:
    """The head size in a family read at its softmax: the hidden size divided by the heads."""
    hidden = getattr(model.config, "hidden_size", None)
    return int(hidden or model.get_input_embeddings().weight.shape[-1]) // call.heads


def _all_answers(scope: Scope, output: Any) -> Tensor:
    for name in ("prediction_logits", "logits", "last_hidden_state"):
        found = getattr(output, name, None)
        if isinstance(found, Tensor):
            return found.float().sum()
    raise HeadscopeError(
        f"{scope.name} returns no hidden states or logits, so its heads' "
        f"contributions cannot be computed."
    )
