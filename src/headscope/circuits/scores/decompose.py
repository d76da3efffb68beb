"""Vectors and numbers of a pass as sums over the writers of its stream.

A vector of d numbers takes d backward steps, batched as memory allows; a number per position takes
one step for all. No array of tokens × tokens or tokens × width × d is made.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from headscope.circuits.scores.head_pass import HeadPass, Leaf
from headscope.circuits.scores.writers import Writer, Written, WrittenRows
from headscope.errors import HeadscopeError

AT_ONCE = 2**26  # numbers of all gradients in memory together: 256 MB
WIDE = 2**23  # numbers of the heads' own outputs in memory: 64 MB
EXACT = 1e-3  # largest error of a sum, as a share of the largest part, before the model is refused
FAINT = 1e-5  # share of what else enters the first layer; less is rounding

Slopes = list[Tensor | None]
BIAS, POSITION = Writer("bias"), Writer("position")


def written(passed: HeadPass, vector: Tensor, at: Tensor | None = None) -> Written:
    """A vector of this pass (d), such as one position's query, by writer.

    With `at`, only these positions reach the vector.
    """
    start = passed.start
    assert start is not None
    d = vector.shape[0]
    sums: dict[Writer, Tensor] = {}
    in_start = torch.zeros(d, dtype=torch.float64, device=vector.device)
    rest = torch.zeros_like(in_start)
    each = _at_once(passed, vector)
    for first in range(0, d, each):
        here = slice(first, first + each)
        unit = torch.eye(d, dtype=vector.dtype, device=vector.device)[here]
        slopes = _slopes(passed, vector, unit)
        known: dict[int, Tensor] = {}  # most writers share one gradient
        for leaf, slope in zip(passed.leaves, slopes, strict=False):
            if slope is None:
                continue
            for writer, values in _of_leaf(leaf, slope, _inside(leaf, start, at), known):
                sums.setdefault(writer, torch.zeros_like(in_start))[here] += values
                if leaf.in_start:
                    in_start[here] += values
        if start.requires_grad and (slope := slopes[-1]) is not None:
            rest[here] = torch.einsum("ebth,bth->e", slope.double(), start.detach().double())
        del slopes, known  # before the next step needs the room
    # position vectors added as constants or parameters are no module's output
    if start.requires_grad and _matters(rest - in_start, in_start):
        sums[POSITION] = sums.get(POSITION, torch.zeros_like(rest)) + rest - in_start
    writers = tuple(sorted(sums, key=lambda one: one.order))
    vectors = torch.stack([sums[one] for one in writers])
    whole = vector.detach().double()
    _check((vectors.sum(0) - whole).abs().max(), vectors.norm(dim=1).max())
    return Written(writers, vectors, whole)


def written_rows(passed: HeadPass, numbers: Tensor) -> WrittenRows:
    """A number per position (t), computed from that position alone, by writer.

    One backward step gives all of them. The part of biases has no position of its own: it is the
    remainder, and its sum is checked against the biases' own.
    """
    start = passed.start
    assert start is not None and passed.rows is None
    slopes = _slopes(passed, numbers, torch.ones_like(numbers)[None])
    nothing = torch.zeros(numbers.shape[0], dtype=torch.float64, device=numbers.device)
    sums: dict[Writer, Tensor] = {}
    in_start, biases, start_biases = nothing.clone(), 0.0, 0.0
    for leaf, slope in zip(passed.leaves, slopes, strict=False):
        if slope is None:
            continue
        if leaf.value.dim() == 1:
            added = float(slope[0].double() @ leaf.value.detach().double())
            biases += added
            start_biases += added if leaf.in_start else 0.0
            continue
        for writer, values in _rows_of_leaf(leaf, slope[0]):
            sums[writer] = sums.get(writer, nothing) + values
            if leaf.in_start:
                in_start = in_start + values
    if start.requires_grad and (slope := slopes[-1]) is not None:
        rest = (slope[0].double() * start.detach().double()).sum((0, 2)) - in_start
        if _matters(rest.sum() - start_biases, in_start):
            sums[POSITION] = sums.get(POSITION, nothing) + rest
            biases -= start_biases  # it is counted with the positions
    largest = torch.stack([one.abs().amax() for one in sums.values()]).max()
    missing = numbers.detach().double() - torch.stack(list(sums.values())).sum(0)
    _check((missing.sum() - biases).abs(), largest * len(numbers))
    if biases:
        sums[BIAS] = sums.get(BIAS, nothing) + missing
    else:
        _check(missing.abs().max(), largest)
    writers = tuple(sorted(sums, key=lambda one: one.order))
    return WrittenRows(writers, torch.stack([sums[one] for one in writers]))


def _at_once(passed: HeadPass, vector: Tensor) -> int:
    """Numbers of the vector per backward step; with norms on writers' outputs, a writer has a
    gradient of its own."""
    start = passed.start
    assert start is not None
    d = vector.shape[0]
    if d * start.numel() * (len(passed.leaves) + 1) <= AT_ONCE:
        return d
    one = torch.eye(d, dtype=vector.dtype, device=vector.device)[:1]
    slopes = [slope for slope in _slopes(passed, vector, one) if slope is not None]
    apart = {slope.data_ptr(): slope.numel() for slope in slopes}
    return max(1, AT_ONCE // sum(apart.values()))


def _slopes(passed: HeadPass, of: Tensor, directions: Tensor) -> Slopes:
    """e × the shape of every leaf, and of the start if it is one."""
    wanted = [leaf.value for leaf in passed.leaves]
    if passed.start is not None and passed.start.requires_grad:
        wanted.append(passed.start)
    return list(
        torch.autograd.grad(
            of, wanted, directions, is_grads_batched=True, retain_graph=True, allow_unused=True
        )
    )


def _inside(leaf: Leaf, start: Tensor, at: Tensor | None) -> Tensor | None:
    """The positions of a leaf that matter; None for all."""
    whole = leaf.value.dim() > 1 and leaf.value.shape[-2] == start.shape[1]
    return at if whole else None


def _of_leaf(
    leaf: Leaf, slope: Tensor, at: Tensor | None, known: dict[int, Tensor]
) -> Iterator[tuple[Writer, Tensor]]:
    """e for each writer of a leaf; slope: e × the leaf's shape."""
    value = leaf.value.detach()
    if at is not None:
        value = value.index_select(-2, at.to(value.device))
    key = slope.data_ptr()
    if key not in known:
        chosen = slope if at is None else slope.index_select(-2, at.to(slope.device))
        known[key] = chosen.double().flatten(1)
    flat = known[key]  # e r·hidden
    whole = flat @ value.double().flatten()
    if leaf.projection is None or leaf.given is None or leaf.weight is None:
        yield leaf.writer, whole
        return
    given = leaf.given if at is None else leaf.given[:, at.to(leaf.given.device)]
    heads = leaf.projection.heads
    mixed = torch.zeros(len(flat), heads, dtype=torch.float64, device=flat.device)
    rows, width = value.shape[-2], value.shape[-1]
    by_head = leaf.weight.double().unflatten(0, (heads, -1))  # h x hidden
    some = max(1, WIDE // (heads * width))
    for first in range(0, rows, some):
        part = given[0, first : first + some].double().unflatten(-1, (heads, -1))
        outputs = torch.einsum("rhx,hxc->hrc", part, by_head).flatten(1)
        mixed += flat[:, first * width : (first + some) * width] @ outputs.T
    for head in range(heads):
        yield _head(leaf, head), mixed[:, head]
    yield BIAS, whole - mixed.sum(1)  # of the projection itself


def _rows_of_leaf(leaf: Leaf, slope: Tensor) -> Iterator[tuple[Writer, Tensor]]:
    """t for each writer of a leaf; slope has the leaf's shape, 1 t hidden or t hidden."""
    value = leaf.value.detach()
    whole = (slope.double() * value.double()).sum(-1).flatten()
    if leaf.projection is None or leaf.given is None or leaf.weight is None:
        yield leaf.writer, whole
        return
    back = slope[0].double() @ leaf.weight.double().T  # t h·x
    mixed = (back * leaf.given[0].double()).unflatten(-1, (leaf.projection.heads, -1)).sum(-1)
    for head in range(leaf.projection.heads):
        yield _head(leaf, head), mixed[:, head]
    yield BIAS, whole - mixed.sum(1)


def _head(leaf: Leaf, head: int) -> Writer:
    assert leaf.projection is not None
    return Writer("head", leaf.projection.kind, leaf.projection.layer, head)


def _matters(rest: Tensor, beside: Tensor) -> bool:
    return float(rest.norm()) > FAINT * float(beside.norm())


def _check(missed: Tensor, largest: Tensor) -> None:
    if float(missed) > EXACT * float(largest):
        raise HeadscopeError(
            "The parts of a query or key of this model do not add up to it (off by "
            f"{float(missed / largest):.1%} of the largest), so its scores cannot be decomposed."
        )
