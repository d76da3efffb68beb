"""What every writer adds to the stream, and runs in which each reader has its own stream.

A layer runs once per different input of its readers: one head's queries, one group's keys and so on
come from the copy with their stream. They make the layer's attention, and its MLP runs on its own
input without attention.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture import Call
from headscope.capture.interface import apply
from headscope.capture.output_projection import weight_of
from headscope.capture.softmax import weights_of
from headscope.capture.stack import StoppedPass, hidden_of, repeated, replace_hidden, with_hidden
from headscope.circuits.graph.nodes import StreamGraph
from headscope.circuits.patching.donor import Donor, record
from headscope.circuits.patching.path import PATHS_PATCHED
from headscope.circuits.wiring import Wiring
from headscope.errors import HeadscopeError
from headscope.models.own_thread import forward_of, only_here, standing_in
from headscope.reading.ability import Ability
from headscope.reading.describe import trial_inputs

if TYPE_CHECKING:
    from headscope.reading import Scope

CLOSE = 1e-3  # largest error of the writers' sum, as a share of the stream's size


@dataclass(frozen=True)
class LayerParts:
    """The modules of a layer that write."""

    projection: nn.Module
    output: Tensor  # h d m
    mlp: nn.Module | None


@dataclass(frozen=True)
class Streamed:
    """A model that can be run edge by edge."""

    wiring: Wiring
    graph: StreamGraph
    layers: tuple[LayerParts, ...]


def _find(scope: Scope) -> Streamed:
    found = PATHS_PATCHED.of(scope)
    refused = HeadscopeError(
        f"The stream of {scope.name} is not a plain sum of what its heads and MLPs write (norms or "
        "scales stand after them), so it has no edges; use hs.circuits.path_patch."
    )
    parts: list[LayerParts] = []
    heads = scope.heads[found.stack.kind]
    for cuts in found.cuts:
        writers = [module for module in cuts if id(module) in found.writers]
        projections = [
            one for one in writers
            if getattr(found.projections.get(id(one)), "kind", None) == found.stack.kind
        ]  # fmt: skip
        mlps = [one for one in writers if id(one) not in found.projections]
        if len(projections) != 1 or len(mlps) > 1 or len(writers) != len(projections) + len(mlps):
            raise refused
        weight = weight_of(projections[0]).float()
        output = weight.reshape(heads, -1, weight.shape[-1])
        parts.append(LayerParts(projections[0], output, mlps[0] if mlps else None))
    with_mlps = {one.mlp is not None for one in parts}
    if found.after_projection or len(with_mlps) > 1 or scope.encoder_decoder:
        raise refused
    calls: list[Call] = []
    inputs = trial_inputs(scope.model)
    scope.forward(inputs, calls.append, lazy=True)
    groups = next((call.k.shape[1] for call in calls if call.k is not None), 0)
    if not groups:
        raise HeadscopeError(
            f"{scope.name} does not expose the queries and keys of its heads, so no edge leads "
            f"to them; use hs.patch."
        )
    graph = StreamGraph(len(parts), heads, groups, _parallel(scope, found), with_mlps == {True})
    made = Streamed(found, graph, tuple(parts))
    written, end = writes(scope, made, inputs)
    if not torch.allclose(written.sum(0), end, atol=CLOSE * float(end.abs().max()), rtol=0):
        raise refused
    return made


STREAMED = Ability(("edges",), "run edge by edge", _find)


def _parallel(scope: Scope, found: Wiring) -> bool:
    """Whether the first layer's MLP reads the stream before its heads write."""
    seen: list[Tensor] = []
    cuts = found.cuts[0]
    mlps = [
        one for one in cuts if id(one) in found.writers and id(one) not in found.projections
    ]  # fmt: skip
    if not mlps:
        return False
    hook = mlps[0].register_forward_hook(only_here(keeper(seen)))
    projection = next(one for one in cuts if id(one) in found.projections)
    own = forward_of(projection)
    try:
        scope.forward(trial_inputs(scope.model))
        with standing_in(projection, lambda *args: torch.zeros_like(own(*args))):
            scope.forward(trial_inputs(scope.model))
    finally:
        hook.remove()
    return bool(torch.equal(seen[0], seen[1]))


def writes(scope: Scope, found: Streamed, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """w b t m: every writer's output on these prompts; b t m: the stream after the last layer.

    Outputs that are the same for all prompts, such as a projection's bias, count as the
    embedding's.
    """
    start: list[Tensor] = []

    def begin(module: nn.Module, args: Any, kwargs: Any) -> None:
        start.append((args[0] if args else kwargs["hidden_states"]).detach())

    first = found.wiring.stack.layers[0]
    hook = first.register_forward_pre_hook(only_here(begin), with_kwargs=True)
    try:
        donor = record(scope, found.wiring, inputs)
    finally:
        hook.remove()
    return stacked(found, start[0], donor), donor.hidden[len(found.layers) - 1]


def stacked(found: Streamed, start: Tensor, donor: Donor) -> Tensor:
    """w b t m: the writers' parts in the graph's order."""
    each = [start[None].float() + constant(found)]
    for number, layer in enumerate(found.layers):
        each.append(_by_head(layer, donor.heads[number]))
        if layer.mlp is not None:
            each.append(donor.mlps[number].reshape(start.shape)[None].float())  # OPT: one long row
    return torch.cat(each)


def _by_head(layer: LayerParts, outputs: Tensor) -> Tensor:
    """h b t m: what each head (b t h d) adds to the stream."""
    return torch.einsum("bthd,hdm->hbtm", outputs.float(), layer.output)


def constant(found: Streamed) -> Tensor | float:
    """The biases of the output projections: no writer's, and the same for every prompt."""
    biases = [getattr(layer.projection, "bias", None) for layer in found.layers]
    present = [one.detach().float() for one in biases if isinstance(one, Tensor)]
    return torch.stack(present).sum(0) if present else 0.0


@dataclass
class EdgeRun:
    """Runs of the clean prompts in which each edge carries the clean run's or the corrupted one's.

    Heads and MLPs respond to their inputs; only the corrupted writers (w b t m) are fixed.
    """

    scope: Scope
    found: Streamed
    inputs: dict[str, Tensor]  # clean
    calls: dict[int, Call]  # masks and scales of a clean run
    corrupted: Tensor  # w b t m

    def __call__(self, kept: Tensor) -> Any:
        """The model's output with the edges `kept` (readers × writers) clean, all others not."""
        state = _State(torch.zeros_like(self.corrupted), kept.to(self.corrupted))
        with torch.no_grad(), contextlib.ExitStack() as undo:
            for number, layer in enumerate(self.found.wiring.stack.layers):
                body = self._layer(number, forward_of(layer), state)
                undo.enter_context(standing_in(layer, body))
            options = {"use_cache": False} if self.scope.accepts("use_cache") else {}
            return self.scope.forward(self.inputs, state.see, lazy=True, **options)

    def _layer(self, number: int, forward: Callable[..., Any], state: _State) -> Any:
        graph, parts = self.found.graph, self.found.layers[number]
        heads, groups = graph.heads, graph.groups
        first = number * (heads + 2 * groups + graph.mlps)  # of this layer's readers
        writer = 1 + number * graph.per_layer

        def heard(rows: Tensor, before: int) -> Tensor:
            rows = rows[:, :before]
            clean = torch.einsum("rw,wbtm->rbtm", rows, state.written[:before])
            return clean + torch.einsum("rw,wbtm->rbtm", 1 - rows, self.corrupted[:before])

        def body(*args: Any, **kwargs: Any) -> Any:
            own: Tensor = args[0] if args else kwargs["hidden_states"]
            batch = len(own)
            if number == 0:
                state.written[0] = own.float() + constant(self.found)
            rows, which = torch.unique(
                state.kept[first : first + heads + 2 * groups], dim=0, return_inverse=True
            )
            streams = heard(rows, writer).to(own).flatten(0, 1)
            copied: tuple[Any, Any] = repeated((args, kwargs), batch, len(rows))
            many = replace_hidden(copied[0], copied[1], _always(streams))
            state.attends = True
            with contextlib.suppress(StoppedPass):
                forward(*many[0], **many[1])
            state.attends = False
            outputs = self._outputs(number, state.taken(), which, len(rows))
            state.written[writer : writer + heads] = _by_head(parts, outputs)
            mlp = self.found.layers[number].mlp
            last = number == graph.layers - 1
            if mlp is not None:
                row = state.kept[first + heads + 2 * groups][None]
                before = graph.before(graph.readers[first + heads + 2 * groups])
                stream = heard(row, before)[0].to(own)
                given = replace_hidden(args, kwargs, _always(stream))
            else:
                given = (args, kwargs)
            taken: list[Tensor] = []
            with contextlib.ExitStack() as undo:
                silent = _silent(forward_of(parts.projection))
                undo.enter_context(standing_in(parts.projection, silent))
                if mlp is not None:
                    hook = mlp.register_forward_hook(only_here(keeper(taken)))
                    undo.callback(hook.remove)
                output = forward(*given[0], **given[1])
            if taken:
                state.written[writer + heads] = taken[-1].reshape(own.shape).float()
            stream = heard(state.kept[-1][None], len(graph.writers))[0] if last else own
            return with_hidden(output, stream.to(hidden_of(output)))

        return body

    def _outputs(self, number: int, call: Call, which: Tensor, copies: int) -> Tensor:
        """b t h d: the layer's heads, each with its own queries, keys and values."""
        graph = self.found.graph
        assert call.q is not None and call.k is not None and call.v is not None

        def of(tensor: Tensor, first: int, count: int) -> Tensor:
            apart = tensor.unflatten(0, (copies, -1))  # c b h t d
            each = [apart[which[first + at], :, at] for at in range(count)]
            return torch.stack(each, dim=1)

        q = of(call.q, 0, graph.heads)
        k = of(call.k, graph.heads, graph.groups)
        v = of(call.v, graph.heads + graph.groups, graph.groups)
        rows = torch.arange(q.shape[2], device=q.device)
        return apply(weights_of(self.calls[number], q, k, rows), v)


@dataclass
class _State:
    written: Tensor  # w b t m
    kept: Tensor  # r w
    attends: bool = False
    call: Call | None = None

    def see(self, call: Call) -> None:
        if self.attends:
            self.call = call
            raise StoppedPass

    def taken(self) -> Call:
        assert self.call is not None
        call, self.call = self.call, None
        return call


def keeper(kept: list[Tensor]) -> Callable[..., None]:
    """A hook that records a module's output."""

    def keep(module: nn.Module, given: Any, output: Tensor) -> None:
        kept.append(output)

    return keep


def _always(tensor: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda own: tensor


def _silent(forward: Callable[..., Any]) -> Callable[..., Any]:
    def silent(*args: Any, **kwargs: Any) -> Any:
        return torch.zeros_like(forward(*args, **kwargs))

    return silent
