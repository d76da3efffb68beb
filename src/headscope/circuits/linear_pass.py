"""One pass in which a model's answer is a plain sum of what was written into its stream.

Norms are frozen and the output of every module with weights is a constant, so that only additions
and linear maps remain between the writers and the answer. The numbers are the model's own. Of a
long text, only the requested positions are kept.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture import Call, Kind
from headscope.capture.softmax import weight_rows
from headscope.capture.stack import hidden_of, replace_hidden
from headscope.circuits.frozen_norm import FrozenNorm
from headscope.errors import HeadscopeError
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import forward_of, only_here, standing_in

if TYPE_CHECKING:
    from headscope.circuits.wiring import Wiring
    from headscope.reading import Scope

FEW = 8  # queries whose weights are computed at once and kept


@dataclass(frozen=True)
class Leaf:
    """One thing written into the stream: an embedding, a writer's output, or a norm's bias."""

    layer: int | None  # None: before the first layer or after the last
    module: nn.Module | None
    value: Tensor  # b t hidden, or a bias
    given: Tensor | None  # the writer's input: the heads' outputs, for a projection
    whole: bool = True  # t is every position; else the requested rows

    def at(self, rows: Tensor, tensor: Tensor) -> Tensor:
        """The requested rows (b r) of a tensor as long as the value."""
        return picked(tensor, rows) if self.whole and tensor.dim() == 3 else tensor

    @property
    def by_example(self) -> bool:
        """Whether the first axis is the batch: routed experts write tokens in one long row."""
        return self.value.dim() == 3


def picked(tensor: Tensor, rows: Tensor) -> Tensor:
    """b r …: of b t …, each example's own positions (b r)."""
    rows = rows.to(tensor.device)
    return tensor[torch.arange(len(rows), device=rows.device)[:, None], rows]


@dataclass(frozen=True)
class Attended:
    """The weights of some queries (b r) of a call (b h r s), and the values they weigh."""

    heads: int
    weights_of: Callable[[Tensor], Tensor]
    values: Tensor  # b g s d


@dataclass
class Trace:
    output: Any = None
    start: Leaf | None = None  # the stream as it enters the first layer
    leaves: list[Leaf] = field(default_factory=list[Leaf])
    attended: dict[tuple[Kind, int], Attended] = field(
        default_factory=dict[tuple[Kind, int], Attended]
    )
    hidden: list[Tensor] = field(default_factory=list[Tensor])  # after every layer, b t|r d
    beside: tuple[Any, ...] | None = None  # what layers return beside it, where they do


def trace(
    scope: Scope,
    wiring: Wiring,
    inputs: Mapping[str, Tensor],
    at: Tensor | None = None,
    wrapped: nn.Module | None = None,
    rows: Tensor | None = None,
) -> Trace:
    """Run the scope's model under its edits; gradients reach the leaves and nothing else.

    With `at` (b, or b r), the output layer `wrapped` is run at those positions alone. With `rows`
    (b r), writers are leaves at these positions alone; the embeddings, the first leaf, always keep
    every position.
    """
    found = Trace()
    layers = wiring.stack.layers
    with stopped_safely(), contextlib.ExitStack() as undo:
        undo.enter_context(torch.enable_grad())
        first = layers[0].register_forward_pre_hook(only_here(_begin(found)), with_kwargs=True)
        undo.callback(first.remove)
        for layer in layers:
            handle = layer.register_forward_hook(only_here(_keep(found, rows)))
            undo.callback(handle.remove)
        for number, cuts in enumerate(wiring.cuts):
            for module in cuts:
                writes = id(module) in wiring.writers
                cut = _Cut(found, number, module, writes, rows, forward_of(module))
                undo.enter_context(standing_in(module, cut))
        for norm in wiring.norms:
            frozen = FrozenNorm(norm, _bias(found, wiring, norm), each=True)
            undo.enter_context(standing_in(norm, frozen))
        if at is not None and wrapped is not None:
            undo.enter_context(standing_in(wrapped, _only(at, forward_of(wrapped))))
        seen = _seen(found, rows, {(p.kind, p.layer) for p in wiring.projections.values()})
        options = {"use_cache": False} if scope.accepts("use_cache") else {}
        found.output = scope.forward(inputs, seen, lazy=True, gradients=True, **options)
    return found


def _begin(found: Trace) -> Callable[..., Any]:
    def begin(module: nn.Module, args: Any, kwargs: Any) -> Any:
        def leaf(hidden: Tensor) -> Tensor:
            start = hidden.detach().requires_grad_()
            found.start = Leaf(None, None, start, None)
            found.leaves.append(found.start)
            return start.clone()

        return replace_hidden(args, kwargs, leaf)

    return begin


def _keep(found: Trace, rows: Tensor | None) -> Callable[..., None]:
    def keep(module: nn.Module, given: Any, output: Any) -> None:
        hidden = hidden_of(output).detach()
        if hidden.dim() != 3:  # Gemma 3n, DeepSeek-V4
            raise HeadscopeError(
                "The layers of this model pass on several streams at once, so what its heads add "
                "to a prediction cannot be decomposed."
            )
        found.hidden.append(hidden if rows is None else picked(hidden, rows))
        found.beside = tuple(output[1:]) if isinstance(output, tuple | list) else None

    return keep


@dataclass(frozen=True)
class _Cut:
    """Replaces a module with weights: its output becomes a constant."""

    found: Trace
    layer: int
    module: nn.Module
    writes: bool
    rows: Tensor | None
    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            output = self.forward(*args, **kwargs)
        if not self.writes or not isinstance(output, Tensor) or not output.is_floating_point():
            return output
        given = args[0].detach() if args and isinstance(args[0], Tensor) else None
        start = self.found.start
        if start is not None and output.shape[-1] != start.value.shape[-1]:
            return output  # a gate (Qwen2-MoE's shared expert) scales another module's output
        along = start is not None and output.shape[:-1] == start.value.shape[:-1]
        if self.rows is None or not along or output.dim() != 3:
            value = output.detach().requires_grad_()
            self.found.leaves.append(Leaf(self.layer, self.module, value, given))
            return value.clone()  # some layers add to it in place, which a leaf would refuse
        rows = self.rows.to(output.device)
        value = picked(output.detach(), rows).requires_grad_()
        given = None if given is None else picked(given.reshape(*output.shape[:2], -1), rows)
        self.found.leaves.append(Leaf(self.layer, self.module, value, given, whole=False))
        return output.detach().scatter(1, rows[:, :, None].expand_as(value), value)


def _bias(found: Trace, wiring: Wiring, norm: nn.Module) -> Callable[[Tensor], None]:
    layer = wiring.layer_of(norm)

    def note(bias: Tensor) -> None:
        found.leaves.append(Leaf(layer, None, bias, None, whole=False))

    return note


def _only(at: Tensor, forward: Callable[..., Any]) -> Callable[..., Any]:
    def only(hidden: Tensor, *args: Any, **kwargs: Any) -> Any:
        if hidden.dim() != 3:  # ProphetNet's several streams of predictions
            raise HeadscopeError(
                "This model predicts from several streams at once, so what its heads add to a "
                "prediction cannot be decomposed."
            )
        rows = at if at.dim() == 2 else at[:, None]
        if int(rows.max()) >= hidden.shape[1]:
            raise HeadscopeError(
                f"This model predicts at {hidden.shape[1]} positions that are not the tokens of "
                "the text, so what its heads add to a prediction cannot be decomposed."
            )
        return forward(picked(hidden, rows), *args, **kwargs)

    return only


def _seen(
    found: Trace, rows: Tensor | None, written: set[tuple[Kind, int]]
) -> Callable[[Call], None]:
    def see(call: Call) -> None:
        if call.v is None or (call.kind, call.layer) not in written:
            return
        if rows is not None and rows.shape[1] <= FEW:
            weights_of = _weights_now(call, rows.to(call.v.device))
        else:
            weights_of = functools.partial(_weights, call)
        found.attended[call.kind, call.layer] = Attended(call.heads, weights_of, call.v.detach())

    return see


def _weights(call: Call, rows: Tensor) -> Tensor:
    """b h r s: each example's own rows."""
    if len(rows) == 1:
        return weight_rows(call, rows[0])
    asked, at = rows.unique(return_inverse=True)
    return picked(weight_rows(call, asked).transpose(1, 2), at.view_as(rows)).transpose(1, 2)


@torch.no_grad()
def _weights_now(call: Call, rows: Tensor) -> Callable[[Tensor], Tensor]:
    """The weights, computed during the call: a long text's q and k are too large to keep."""
    made = _weights(call, rows).detach()
    return lambda _: made
