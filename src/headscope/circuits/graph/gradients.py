"""Scores of all edges from a few gradients, integrated from corrupted to clean.

An edge's score is the change of its writer's output from corrupted to clean, times the metric's
gradient at its reader's input, averaged over embeddings between the two prompts' (Hanna et al.
2024).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture import Call
from headscope.capture.stack import hidden_of, replace_hidden
from headscope.circuits.graph.stream import Streamed, constant, keeper
from headscope.errors import HeadscopeError
from headscope.models.own_thread import only_here

if TYPE_CHECKING:
    from headscope.circuits.patching.batch import PairBatch
    from headscope.reading import Scope


@dataclass
class _Pass:
    """Tensors of one pass, in its graph."""

    streams: list[Tensor] = field(default_factory=list[Tensor])  # inputs of layers
    calls: dict[int, Call] = field(default_factory=dict[int, Call])
    attended: list[Tensor] = field(default_factory=list[Tensor])  # outputs of projections
    mlps: list[Tensor] = field(default_factory=list[Tensor])
    end: Tensor | None = None


def edge_scores(
    scope: Scope,
    found: Streamed,
    batch: PairBatch,
    written: tuple[Tensor, Tensor],
    steps: int,
) -> Tensor:
    """r w: every edge's estimated share of clean − corrupted, summed over pairs.

    written: w b t m each, every writer's output on the clean and on the corrupted prompts.
    """
    clean, corrupted = written
    slopes: list[Tensor] = []
    for step in range(steps):
        share = (step + 0.5) / steps
        start = corrupted[0] + share * (clean[0] - corrupted[0]) - constant(found)
        own = _slopes(scope, found, batch, start)
        slopes = [a.add_(b) for a, b in zip(slopes, own, strict=True)] if slopes else own
    change = (clean - corrupted).flatten(1)
    return torch.cat([each.flatten(1) @ change.T for each in slopes]) / steps


def _slopes(scope: Scope, found: Streamed, batch: PairBatch, start: Tensor) -> list[Tensor]:
    """r b t m for every layer's readers, then for the output layer: ∂metric / ∂ its input.

    The stream is a sum, so its gradient before an MLP is the one after it plus the MLP's own: one
    backward pass gives both, and the MLP's is their difference.
    """
    seen = _run(scope, found, batch, start)
    passed, graph = seen.passed, found.graph
    answer = batch.read(seen.output, clean=True)[:, 0].sum()
    ends: list[Tensor] = []
    for number in range(graph.layers):
        call = passed.calls[number]
        assert call.q is not None and call.k is not None and call.v is not None
        ends += [call.q, call.k, call.v]
        if graph.mlps:
            before = passed.streams[number] if graph.parallel else passed.attended[number]
            ends += [before, passed.mlps[number]]
    assert passed.end is not None
    try:
        given = list(torch.autograd.grad(answer, [*ends, passed.end], retain_graph=True))
    except RuntimeError as error:
        raise HeadscopeError(
            f"{scope.name} has attention that gradients do not reach; load it with "
            'attn_implementation="eager".'
        ) from error
    each = len(ends) // graph.layers
    rows: list[Tensor] = []
    for number in range(graph.layers):
        own, slopes = ends[each * number :][:each], given[each * number :][:each]
        stream = passed.streams[number]
        rows.append(_of_attention(own[:3], slopes[:3], stream))
        if graph.mlps:
            before, after = (one.reshape(stream.shape).float() for one in slopes[3:])
            beside = rows[-1].sum(0) if graph.parallel else 0.0
            rows.append((before - after - beside)[None])
    return [*rows, given[-1][None].float()]


def _of_attention(ends: list[Tensor], slopes: list[Tensor], stream: Tensor) -> Tensor:
    """h+2g b t m: the gradients in the stream through one head's queries, one group's keys, …"""
    found: list[Tensor] = []
    for end, slope in zip(ends, slopes, strict=True):
        heads = end.shape[1]
        alone = torch.zeros(heads, *slope.shape, dtype=slope.dtype, device=slope.device)
        for head in range(heads):
            alone[head, :, head] = slope[:, head]
        made = torch.autograd.grad(end, stream, alone, retain_graph=True, is_grads_batched=True)
        found.append(made[0].float())
    return torch.cat(found)


@dataclass(frozen=True)
class _Seen:
    passed: _Pass
    output: Any


def _run(scope: Scope, found: Streamed, batch: PairBatch, start: Tensor) -> _Seen:
    """One pass from these embeddings (b t m) on."""
    passed = _Pass()
    layers = found.wiring.stack.layers

    def begin(module: nn.Module, args: Any, kwargs: Any) -> Any:
        return replace_hidden(args, kwargs, lambda own: start.to(own).requires_grad_())

    def note_stream(module: nn.Module, args: Any, kwargs: Any) -> None:
        passed.streams.append(args[0] if args else kwargs["hidden_states"])

    def note_end(module: nn.Module, given: Any, output: Any) -> None:
        passed.end = hidden_of(output)

    def note_call(call: Call) -> None:
        if call.kind == found.wiring.stack.kind:
            passed.calls[call.layer] = call

    with torch.enable_grad(), contextlib.ExitStack() as undo:
        hooks = [layers[0].register_forward_pre_hook(only_here(begin), with_kwargs=True)]
        hooks += [
            layer.register_forward_pre_hook(only_here(note_stream), with_kwargs=True)
            for layer in layers
        ]
        hooks.append(layers[-1].register_forward_hook(only_here(note_end)))
        for layer in found.layers:
            kept = passed.attended
            hooks.append(layer.projection.register_forward_hook(only_here(keeper(kept))))
            if layer.mlp is not None:
                hooks.append(layer.mlp.register_forward_hook(only_here(keeper(passed.mlps))))
        for hook in hooks:
            undo.callback(hook.remove)
        options = {"use_cache": False} if scope.accepts("use_cache") else {}
        output = scope.forward(batch.clean, note_call, lazy=True, gradients=True, **options)
    return _Seen(passed, output)
