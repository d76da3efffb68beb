"""Parts of logits: what each head, MLP, embedding and bias added, prompt by prompt."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.capture.output_projection import weight_of
from headscope.circuits.linear_pass import Attended, Leaf
from headscope.circuits.logits.attribution import Floats, PartOfLogit, head_name
from headscope.circuits.logits.solve import Solved
from headscope.circuits.logits.target import Question
from headscope.circuits.wiring import Wiring
from headscope.errors import HeadscopeError
from headscope.interrupts import stopped_safely

if TYPE_CHECKING:
    from headscope.reading import Scope

MISSED, MISSED_IN_HALF = 1e-3, 5e-2  # largest error of a sum, as a share of the largest part
MOST_EDGES = 2**24  # largest number of edges of a layer; with more, queries are summed


@dataclass(frozen=True)
class Added:
    """What each part added to the answers of a batch."""

    parts: tuple[PartOfLogit, ...]  # whose values are those of the first prompt
    values: Floats  # e b
    edges: dict[str, Floats]  # "kind.layer": b h r|1 s

    def check_sums(self, scope: Scope, solved: Solved, asked: Sequence[Question]) -> None:
        """Raise an error if the parts do not sum to the logit: none of them could be trusted."""
        if asked[0].output_layer is None or "decoder" not in scope.kinds:
            return
        half = next(scope.model.parameters()).dtype not in (torch.float32, torch.float64)
        missed = np.abs(solved.answer.detach().double().cpu().numpy() - self.values.sum(0))
        share = float((missed / np.abs(self.values).max(0)).max())
        if share > (MISSED_IN_HALF if half else MISSED):
            raise HeadscopeError(
                f"What the heads and MLPs of {scope.name} add does not sum to its logit (it misses "
                f"by {share:.1%} of the largest part): another operation "
                f"changes them before the logit, so the logit cannot be decomposed."
            )


def parts_of(found: Wiring, solved: Solved) -> Added:
    """Every part of every prompt's answer; a single prompt needs no leaves of its own."""
    parts: list[PartOfLogit] = []
    values: list[Tensor] = []
    edges: dict[str, Floats] = {}
    bias = solved.biases.double()
    mlps: dict[int, Tensor] = {}

    def add(part: PartOfLogit, value: Tensor) -> None:
        parts.append(part)
        values.append(value)

    for leaf, slope in zip(solved.traced.leaves, solved.slopes, strict=True):
        if slope is None:
            continue
        projection = None if leaf.module is None else found.projections.get(id(leaf.module))
        here, value = leaf.at(solved.rows, slope), leaf.at(solved.rows, leaf.value.detach())
        whole = _by_example(here.double() * value.double(), len(solved.ids))
        if leaf is solved.traced.start:
            add(PartOfLogit("embedding", None, None, None, 0.0), whole)
        elif leaf.module is None:
            bias = bias + whole
        elif projection is None or leaf.given is None:
            layer = leaf.layer or 0
            mlps[layer] = whole if layer not in mlps else mlps[layer] + whole
        else:
            kind, layer = projection.kind, projection.layer
            by_head, edge = _by_head(leaf, here, solved, kind, layer, projection.heads)
            for head, one in enumerate(by_head.T):
                add(PartOfLogit("head", kind, layer, head, 0.0), one)
            bias = bias + whole - by_head.sum(1)
            if edge is not None:
                edges[head_name(kind, layer)] = edge
    for layer, one in mlps.items():
        add(PartOfLogit("mlp", None, layer, None, 0.0), one)
    add(PartOfLogit("bias", None, None, None, 0.0), bias)
    numbers = np.stack([one.cpu().numpy() for one in values])
    named = [
        PartOfLogit(one.part, one.kind, one.layer, one.head, float(value))
        for one, value in zip(parts, numbers[:, 0], strict=True)
    ]
    return Added(tuple(named), numbers, edges)


def _by_example(product: Tensor, batch: int) -> Tensor:
    """b: each prompt's sum; a leaf without a batch axis belongs to the only prompt."""
    return (product.flatten(1).sum(1) if batch > 1 else product.sum()[None]).cpu()


def _by_head(
    leaf: Leaf, slope: Tensor, solved: Solved, kind: Kind, layer: int, heads: int
) -> tuple[Tensor, Floats | None]:
    """b h: what each head added, and from which keys (b h r s). slope: b r hidden, the gradient."""
    assert leaf.module is not None and leaf.given is not None
    back = slope.double() @ weight_of(leaf.module).double().T  # b r h·d
    back = back.unflatten(-1, (heads, -1))
    given = leaf.given.reshape(*leaf.value.shape[:2], -1)
    mixed = leaf.at(solved.rows, given).double().view_as(back)
    values = (mixed * back).sum(dim=(1, 3)).cpu()
    attended = solved.traced.attended.get((kind, layer))
    return values, None if attended is None else _edges(attended, back, solved.rows)


@stopped_safely()
@torch.no_grad()
def _edges(attended: Attended, back: Tensor, rows: Tensor) -> Floats:
    """b h r s: α_ij (v_j · W_O slope_i), computed without a vector per edge.

    For a long text whose answer comes from many queries: b h 1 s, their sum.
    """
    values, heads = attended.values.double(), attended.heads
    spread = values.repeat_interleave(heads // values.shape[1], dim=1)  # b h s d
    at_once = max(1, MOST_EDGES // spread[..., 0].numel())
    count = rows.shape[1]

    def some(start: int) -> Tensor:
        here = slice(start, start + at_once)
        towards = torch.einsum("brhd,bhsd->bhrs", back[:, here], spread)
        return attended.weights_of(rows[:, here]).double() * towards

    if count <= at_once:
        return some(0).cpu().numpy()
    parts = (some(start).sum(2, keepdim=True) for start in range(0, count, at_once))
    return functools.reduce(torch.add, parts).cpu().numpy()
