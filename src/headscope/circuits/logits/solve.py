"""Solve: the traced pass of some prompts, their answers, and the gradient at every leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.circuits.linear_pass import Trace, trace
from headscope.circuits.logits.target import (
    Question,
    Target,
    difference,
    logits_of,
    softcapped,
    target_ids,
    together,
)
from headscope.circuits.wiring import Wiring
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import only_here

if TYPE_CHECKING:
    from headscope.reading import Scope

LONG = 2048  # longer texts: first find which positions make the answer


class Solved:
    """A pass over prompts padded to one length: their answers, and every leaf's gradient."""

    def __init__(
        self, traced: Trace, logits: Tensor, shown: Tensor, ids: list[list[int]], capped: bool
    ) -> None:
        self.traced, self.ids, self.capped = traced, ids, capped
        self.logits = logits  # b v
        self.shown = shown.detach()  # the model's output, after any soft-cap
        self.answer = torch.stack(
            [difference(one, own) for one, own in zip(logits, ids, strict=True)]
        )
        self.slopes: list[Tensor | None] = []
        self.biases = torch.zeros(len(ids))  # b, biases after the last layer
        self.rows = torch.zeros(len(ids), 0, dtype=torch.long)  # b r

    @property
    def by_example(self) -> bool:
        """Whether every leaf has a batch axis."""
        return all(leaf.by_example for leaf in self.traced.leaves)

    def reached_from(self, at: Tensor | None = None) -> bool:
        """Whether the embeddings' gradient is known and, with `at` (b), zero everywhere else."""
        every = zip(self.traced.leaves, self.slopes, strict=True)
        slope = next((slope for leaf, slope in every if leaf is self.traced.start), None)
        if slope is None or at is None:
            return slope is not None
        reaches = slope.abs().amax(-1) > 0
        reaches[torch.arange(len(at)), at] = False
        return not bool(reaches.any())


def solve(
    scope: Scope, found: Wiring, asked: Sequence[Question], targets: Sequence[Target]
) -> Solved:
    """Decompose the pass, keeping what reaches the answers.

    A word's answer depends on its own position alone if everything between the writers and the
    answer works position by position; the gradient at the embeddings shows whether it does.
    """
    batch = _Batch(scope, found, asked, targets)
    if batch.at is not None and batch.words:
        solved = batch.solved(batch.at[:, None])
        if solved.reached_from(batch.at):
            return solved
    elif max(len(one.query) for one in asked) > LONG:  # first find which positions make the answer
        solved = batch.solved(torch.zeros(len(asked), 0, dtype=torch.long))
        if solved.reached_from() and solved.rows.shape[1]:
            return batch.solved(solved.rows)
    return batch.solved(None)


class _Batch:
    """Some questions as one batch."""

    def __init__(
        self, scope: Scope, found: Wiring, asked: Sequence[Question], targets: Sequence[Target]
    ) -> None:
        self.scope, self.found, self.asked, self.targets = scope, found, asked, targets
        self.inputs = together(scope, asked)
        self.layer = asked[0].output_layer
        self.words = self.layer is not None
        every = [one.position for one in asked if one.position is not None]
        self.at = torch.tensor(every, device=scope.device) if every else None  # b

    @stopped_safely()
    @torch.enable_grad()
    def solved(self, rows: Tensor | None) -> Solved:
        scope, before = self.scope, list[Tensor]()

        def keep(module: nn.Module, given: Any, output: Tensor) -> None:
            before.append(output)

        layer = self.layer
        handle = None if layer is None else layer.register_forward_hook(only_here(keep))
        try:
            traced = trace(scope, self.found, self.inputs, self.at, layer, rows)
        finally:
            if handle is not None:
                handle.remove()
        shown = logits_of(scope, traced.output, self.words, self.at)
        plain = before[-1][:, -1] if before else shown
        capped = bool(before) and softcapped(shown.detach(), plain.detach())
        logits = plain if capped else shown
        ids = [
            target_ids(scope, one, target, scores)
            for one, target, scores in zip(self.asked, self.targets, logits.detach(), strict=True)
        ]
        solved = Solved(traced, logits, shown, ids, capped)
        leaves = [leaf.value for leaf in traced.leaves]
        slopes: Any = torch.autograd.grad(
            solved.answer.sum(), leaves, allow_unused=True, retain_graph=True
        )
        solved.slopes = list(slopes)
        solved.biases = _after_the_layers(solved.answer, _outer_biases(scope.model, self.found))
        solved.rows = _rows(solved, rows)
        return solved


def _after_the_layers(answer: Tensor, biases: list[Tensor]) -> Tensor:
    """b: what biases after the last layer add, one answer after another."""
    if not biases:
        return torch.zeros(len(answer), dtype=torch.float64)
    added: list[float] = []
    for one in answer:
        slopes: Any = torch.autograd.grad(one, biases, allow_unused=True, retain_graph=True)
        each = zip(slopes, biases, strict=True)
        added.append(sum(float((s * b).sum().detach()) for s, b in each if s is not None))
    return torch.tensor(added, dtype=torch.float64)


def _outer_biases(model: nn.Module, found: Wiring) -> list[Tensor]:
    """Biases between the last layer and the logits (those of norms are leaves already)."""
    inside = {id(part) for layer in found.stack.layers for part in layer.parameters()}
    inside |= {id(part) for norm in found.norms for part in norm.parameters()}
    return [
        bias
        for name, bias in model.named_parameters()
        if name.endswith("bias") and bias.dim() == 1 and id(bias) not in inside
        and bias.requires_grad
    ]  # fmt: skip


def _rows(solved: Solved, kept: Tensor | None) -> Tensor:
    """b r: the positions through which anything reaches an answer."""
    touched = [
        slope.abs().amax((0, 2)) > 0
        for leaf, slope in zip(solved.traced.leaves, solved.slopes, strict=True)
        if leaf.whole and slope is not None and slope.dim() == 3
    ]
    if kept is not None and kept.shape[1]:
        return kept.to(touched[0].device) if touched else kept
    reach = torch.stack(touched).any(0).nonzero().flatten()
    return reach.expand(len(solved.ids), -1)
