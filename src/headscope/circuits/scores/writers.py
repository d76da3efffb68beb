"""The query and the key of one head as sums over what was written into the residual stream.

One pass up to the head's layer. Norms stand frozen at the scale they had, and what every writer
gave is held fixed, so a query (or key) vector is linear in what the writers wrote at its position.
The vectors come from one backward step per dimension of the head, restricted to the rows asked
for; no array of tokens × tokens or tokens × width × dimension is made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from headscope.capture import Call, Kind
from headscope.capture.output_projection import weight_of
from headscope.capture.stack import StoppedPass, replace_hidden
from headscope.circuits.frozen_norm import FrozenNorm
from headscope.errors import BadInput, HeadscopeError
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import forward_of, only_here, standing_in

if TYPE_CHECKING:
    from headscope.circuits.wiring import Projection, Wiring
    from headscope.reading import Scope

Part = Literal["embedding", "position", "segment", "head", "mlp", "bias", "encoder"]
AT_ONCE = 2**26  # numbers of a gradient held at a time: 256 MB
EXACT = 1e-3  # of the largest part: what a sum may miss before the model is refused


@dataclass(frozen=True, order=True)
class Writer:
    """Something that wrote into the stream: an embedding, a head, an MLP, or all biases."""

    part: Part
    kind: Kind | None = None
    layer: int | None = None
    head: int | None = None

    def __str__(self) -> str:
        if self.part == "head":
            prefix = "cross " if self.kind == "cross" else ""
            return f"{prefix}{self.layer}-{self.head}"
        return self.part if self.layer is None else f"{self.part} {self.layer}"


@dataclass(frozen=True)
class Written:
    """One vector as a sum: `vectors[n]` is what `writers[n]` contributed to `whole`."""

    writers: tuple[Writer, ...]
    vectors: Tensor  # W d, float64
    whole: Tensor  # d, float64


@dataclass(frozen=True)
class _Leaf:
    value: Tensor  # 1 r hidden, or a bias
    writer: Writer
    given: Tensor | None = None  # 1 r h·d: the heads' outputs, for an output projection
    projection: Projection | None = None
    weight: Tensor | None = None  # h·d hidden, of that projection
    in_start: bool = False  # before the first layer


@dataclass
class HeadPass:
    """A pass up to one layer's attention: its call, and the leaves that made it."""

    call: Call | None = None
    start: Tensor | None = None  # 1 t hidden: what enters the first layer
    leaves: list[_Leaf] = field(default_factory=list[_Leaf])
    rows: Tensor | None = None

    def written(self, vector: Tensor) -> Written:
        """A vector of this pass (d), such as one position's query, by writer."""
        wanted = [leaf.value for leaf in self.leaves]
        start = self.start
        assert start is not None
        if start.requires_grad:
            wanted.append(start)
        d = vector.shape[0]
        unit = torch.eye(d, dtype=vector.dtype, device=vector.device)
        each = max(1, AT_ONCE // start.numel())
        slopes: list[list[Tensor | None]] = [[] for _ in wanted]
        for first in range(0, d, each):
            found = torch.autograd.grad(
                vector, wanted, unit[first : first + each],
                is_grads_batched=True, retain_graph=True, allow_unused=True,
            )  # fmt: skip
            for kept, slope in zip(slopes, found, strict=True):
                kept.append(slope)
        sums: dict[Writer, Tensor] = {}
        before = torch.zeros(d, dtype=torch.float64, device=vector.device)
        for leaf, parts in zip(self.leaves, slopes, strict=False):
            slope = _joined(parts)
            if slope is None:
                continue
            by_writer = _contributions(leaf, slope)
            for writer, value in by_writer.items():
                sums[writer] = sums.get(writer, torch.zeros_like(value)) + value
                if leaf.in_start:
                    before += value
        if start.requires_grad and (slope := _joined(slopes[-1])) is not None:
            # positions added as fixed numbers or parameters are no module's output
            rest = torch.einsum("dbth,bth->d", slope.double(), start.detach().double()) - before
            if float(rest.norm()) > 1e-5 * float(before.norm()):
                other = Writer("position")
                sums[other] = sums.get(other, torch.zeros_like(rest)) + rest
        writers = tuple(sorted(sums, key=_order))
        whole = vector.detach().double()
        return _checked(Written(writers, torch.stack([sums[w] for w in writers]), whole))


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
                undo.enter_context(standing_in(module, _Table(found, name, forward_of(module))))
        hook = stack.layers[0].register_forward_pre_hook(only_here(_begin(found)), with_kwargs=True)
        undo.callback(hook.remove)
        for number, cuts in enumerate(wiring.cuts[: layer + 1]):
            for module in cuts:
                if id(module) not in own:
                    cut = _Cut(found, wiring, number, module, forward_of(module))
                    undo.enter_context(standing_in(module, cut))
        for norm in wiring.norms:
            undo.enter_context(standing_in(norm, FrozenNorm(norm, _note(found))))
        for name, bias in attention.named_parameters():
            if name.endswith("bias") and bias.dim() == 1:
                undo.callback(bias.requires_grad_, bias.requires_grad)
                bias.requires_grad_()
                found.leaves.append(_Leaf(bias, Writer("bias")))
        options = {"use_cache": False} if scope.accepts("use_cache") else {}
        with contextlib.suppress(StoppedPass):
            scope.forward(inputs, see, lazy=True, gradients=True, **options)
    if found.call is None or found.call.q is None or found.call.k is None:
        raise HeadscopeError(
            f"{scope.name} does not show the queries and keys of layer {layer}, so its scores "
            "cannot be decomposed."
        )
    return found


def _attention(scope: Scope, wiring: Wiring, kind: Kind, layer: int) -> nn.Module:
    """The module whose call is asked for; a decoder's layer holds one that looks at the encoder."""
    if kind == wiring.stack.kind:
        return wiring.stack.attention[layer]
    from headscope.reading.describe import trial_inputs

    calls: list[Call] = []
    scope.forward(trial_inputs(scope.model), calls.append)
    return next(call.module for call in calls if (call.kind, call.layer) == (kind, layer))


@dataclass(frozen=True)
class _Table:
    """Stands in for an embedding before the first layer."""

    found: HeadPass
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
            return _at_rows(self.found, output, Writer(part), rows)
        value = output.detach().requires_grad_()
        self.found.leaves.append(_Leaf(value, Writer(part), in_start=True))
        return value.clone()


def _at_rows(found: HeadPass, output: Tensor, writer: Writer, rows: Tensor) -> Tensor:
    rows = rows.to(output.device)
    value = output.detach().index_select(-2, rows).requires_grad_()
    found.leaves.append(_Leaf(value, writer, in_start=True))
    return output.detach().index_copy(output.dim() - 2, rows, value)


def _begin(found: HeadPass) -> Callable[..., Any]:
    def begin(module: nn.Module, args: Any, kwargs: Any) -> Any:
        def keep(hidden: Tensor) -> Tensor:
            found.start = hidden if hidden.requires_grad else hidden.detach().requires_grad_()
            return found.start.clone()

        return replace_hidden(args, kwargs, keep)

    return begin


@dataclass(frozen=True)
class _Cut:
    """Stands in for a module with weights: what it gives is held fixed."""

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
            leaf = _Leaf(value, Writer("mlp", None, self.layer))
        else:
            writer = Writer("head", projection.kind, projection.layer)
            weight = weight_of(self.module)
            leaf = _Leaf(value, writer, given, projection, weight)
        self.found.leaves.append(leaf)
        return whole


def _note(found: HeadPass) -> Callable[[Tensor], None]:
    def note(bias: Tensor) -> None:
        found.leaves.append(_Leaf(bias, Writer("bias"), in_start=found.start is None))

    return note


def _joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    there = [part for part in parts if part is not None]
    return torch.cat(there) if there else None


def _contributions(leaf: _Leaf, slope: Tensor) -> dict[Writer, Tensor]:
    """d for each writer of a leaf; slope: d × the leaf's shape."""
    axes = tuple(range(1, slope.dim()))
    whole = (slope.double() * leaf.value.detach().double()).sum(axes)
    if leaf.projection is None or leaf.given is None or leaf.weight is None:
        return {leaf.writer: whole}
    heads = leaf.projection.heads
    back = slope.double() @ leaf.weight.double().T  # d 1 r h·x
    mixed = (back * leaf.given.double()).unflatten(-1, (heads, -1)).sum((1, 2, 4))  # d h
    kind, layer = leaf.projection.kind, leaf.projection.layer
    found = {Writer("head", kind, layer, head): mixed[:, head] for head in range(heads)}
    bias = whole - mixed.sum(1)  # of the projection itself
    return {**found, Writer("bias"): bias}


ORDER = ("embedding", "position", "segment", "encoder", "head", "mlp", "bias")


def _order(writer: Writer) -> tuple[int, int, str, int]:
    part = ORDER.index(writer.part)
    return (part, writer.layer or 0, writer.kind or "", writer.head or 0)


def _checked(written: Written) -> Written:
    missed = (written.vectors.sum(0) - written.whole).abs().max()
    largest = written.vectors.norm(dim=1).max()
    if float(missed) > EXACT * float(largest):
        raise HeadscopeError(
            "The parts of a query or key of this model do not add up to it (off by "
            f"{float(missed / largest):.1%} of the largest), so its scores cannot be decomposed."
        )
    return written
