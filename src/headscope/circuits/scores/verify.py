"""Writers tested: the model runs with each removed from one query or one key alone.

A second pass keeps what every module wrote at the query's and the key's positions, minus one
writer, and runs norms and projections anew. Everything else is unchanged, so only the direct path
from that writer to the query (or key) is cut: path patching through q or k.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.capture.stack import StoppedPass
from headscope.circuits.scores.decompose import written
from headscope.circuits.scores.head_pass import HeadPass, Leaf
from headscope.circuits.scores.row import Row
from headscope.circuits.scores.writers import Removal, Side, Writer, Written
from headscope.errors import BadInput
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import forward_of, standing_in

if TYPE_CHECKING:
    from headscope.circuits.wiring import Wiring
    from headscope.reading import Scope


@torch.enable_grad()
def removals(
    scope: Scope,
    wiring: Wiring,
    inputs: Mapping[str, Tensor],
    passed: HeadPass,
    row: Row,
    key: int,
    of_query: Written,
    of_key: Written,
    count: int,
) -> tuple[Removal, ...]:
    """The strongest writers of either side, removed one by one; predicted and measured changes.

    Strength is measured in the decomposed score: `of_key` may be the difference of two keys, while
    a writer is removed from the key alone.
    """
    if row.call.kind == "cross":
        raise BadInput(
            "verify= covers self-attention only: the encoder writes the keys of "
            "cross-attention; leave verify out."
        )
    alone = written(passed, row.k[key], torch.tensor([key]))
    plain, before = row.products(), float(row.weights()[key])
    own = {leaf.writer for leaf in passed.leaves if leaf.module is not None}
    chosen: list[tuple[Side, Writer, Tensor, Tensor]] = []
    for at in _largest(of_query.vectors @ of_key.whole, of_query.writers, own)[:count]:
        without = plain - row.products(q=of_query.vectors[at])
        left = of_query.whole - of_query.vectors[at]
        chosen.append(("query", of_query.writers[at], without, left))
    strongest = [of_key.writers[at] for at in
                 _largest(of_key.vectors @ of_query.whole, of_key.writers, own)]  # fmt: skip
    for writer in [one for one in strongest if one in alone.writers][:count]:
        vector = alone.vectors[alone.writers.index(writer)]
        without = plain.clone()
        without[key] -= row.products(k=vector[None])[0]
        chosen.append(("key", writer, without, alone.whole - vector))
    cuts = [(writer, row.query if side == "query" else key) for side, writer, *_ in chosen]
    q, k = _without(scope, wiring, inputs, passed, row, cuts)
    found: list[Removal] = []
    for number, (side, writer, predicted, left) in enumerate(chosen):
        made = q[number, row.query] if side == "query" else k[number, key]
        if side == "query":
            measured = row.products(q=made)
        else:
            measured = plain.clone()
            measured[key] = row.products(k=made[None])[0]
        own = row.q if side == "query" else row.k[key]
        vector = _rescaled(passed, own, writer, row.query if side == "query" else key)
        again = row.products(q=vector) if side == "query" else plain.clone()
        if side == "key":
            again[key] = row.products(k=vector[None])[0]
        frozen, rescaled, change = (
            float(row.weights(one)[key]) - before for one in (predicted, again, measured)
        )
        scale = float(made.double().norm() / left.norm())
        found.append(Removal(side, writer, frozen, rescaled, change, scale))
    return tuple(found)


def _rescaled(passed: HeadPass, vector: Tensor, writer: Writer, position: int) -> Tensor:
    """d: the vector without a writer, norms after the last writer at the scale they then have.

    Norms before it, such as those on a layer's output, stay frozen.
    """
    rows = None if passed.rows is None else passed.rows.tolist()
    at = position if rows is None else rows.index(position)
    changes: list[tuple[Tensor, Tensor]] = []  # of the writer's output, then of norms' outputs
    for leaf in passed.leaves:
        if leaf.module is not None:
            change = torch.zeros_like(leaf.value).flatten(0, -2)
            change[at] = -_part(leaf, writer, at)
            changes.append((leaf.value, change.view_as(leaf.value)))
    for call in passed.last_norms:
        before = call.entered.detach()
        change = call.norm(before + _pushed(call.entered, changes)) - call.norm(before)
        change = change.detach() - _pushed(call.left, changes)  # beyond what it does while frozen
        changes.append((call.left, change))
    return vector.detach() + _pushed(vector, changes)


def _pushed(of: Tensor, changes: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """The change of a tensor of the pass when earlier tensors change, through their linear maps."""
    direction = torch.zeros_like(of, requires_grad=True)
    slopes: Any = torch.autograd.grad(
        of, [one for one, _ in changes], direction, create_graph=True, allow_unused=True
    )
    moved = torch.zeros_like(of)
    for slope, (_, change) in zip(slopes, changes, strict=True):
        if slope is not None and slope.requires_grad:
            (along,) = torch.autograd.grad(slope, direction, change, retain_graph=True)
            moved = moved + along
    return moved


def _largest(parts: Tensor, writers: Sequence[Writer], own: set[Writer]) -> list[int]:
    """Writers that are modules, largest part first; a bias is in no module's output alone."""
    order = parts.abs().argsort(descending=True).tolist()
    return [at for at in order if writers[at].part == "head" or writers[at] in own]


@stopped_safely()
@torch.no_grad()
def _without(
    scope: Scope,
    wiring: Wiring,
    inputs: Mapping[str, Tensor],
    passed: HeadPass,
    row: Row,
    cuts: Sequence[tuple[Writer, int]],
) -> tuple[Tensor, Tensor]:
    """n t d and n s d: the head's queries and keys, one writer removed at a position per pass."""
    positions = sorted({position for _, position in cuts})
    kept = None if passed.rows is None else passed.rows.tolist()
    rows = {one: one if kept is None else kept.index(one) for one in positions}
    copies = {name: one.expand(len(cuts), *one.shape[1:]) for name, one in inputs.items()}
    seen: list[Call] = []

    def see(call: Call) -> None:
        if call.kind == row.call.kind and call.layer == row.call.layer:
            seen.append(call)
            raise StoppedPass

    with contextlib.ExitStack() as undo:
        modules = {id(leaf.module): leaf.module for leaf in passed.leaves}
        for module in (one for one in modules.values() if one is not None):
            own = iter([leaf for leaf in passed.leaves if leaf.module is module])
            held = _Held(own, rows, tuple(cuts), forward_of(module))
            undo.enter_context(standing_in(module, held))
        options = {"use_cache": False} if scope.accepts("use_cache") else {}
        with contextlib.suppress(StoppedPass):
            scope.forward(copies, see, lazy=True, **options)
    (call,) = seen
    assert call.q is not None and call.k is not None
    group = row.head // (call.heads // call.groups)
    return call.q[:, row.head], call.k[:, group]


@dataclass(frozen=True)
class _Held:
    """Replaces a writer: at some rows its output of the first pass, minus what is cut."""

    leaves: Iterator[Leaf]  # one per call, in order: GPT-2 looks up segments in its words' table
    rows: dict[int, int]  # position: row of the leaf
    cuts: tuple[tuple[Writer, int], ...]
    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        output = self.forward(*args, **kwargs)
        leaf = next(self.leaves, None)
        if leaf is None:
            return output
        output = output.expand(len(self.cuts), *output.shape[1:]).clone()
        value = leaf.value.detach().flatten(0, -2)
        for row, at in self.rows.items():
            output[:, row] = value[at]
            for number, (writer, position) in enumerate(self.cuts):
                if position == row:
                    output[number, row] -= _part(leaf, writer, at)
        return output


def _part(leaf: Leaf, writer: Writer, at: int) -> Tensor:
    """hidden: what a writer put into a leaf at a row."""
    value = leaf.value.detach().flatten(0, -2)[at]
    if leaf.projection is None or leaf.given is None or leaf.weight is None:
        return value if leaf.writer == writer else torch.zeros_like(value)
    where = (leaf.projection.kind, leaf.projection.layer)
    if writer.part != "head" or (writer.kind, writer.layer) != where or writer.head is None:
        return torch.zeros_like(value)
    heads = leaf.projection.heads
    given = leaf.given[0, at].unflatten(-1, (heads, -1))[writer.head]
    return given @ leaf.weight.unflatten(0, (heads, -1))[writer.head]
