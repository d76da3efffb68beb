"""Runs on the corrupted prompt with parts patched from the clean one; equal work is shared."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from headscope.capture import Call
from headscope.capture.interface import apply
from headscope.capture.stack import hidden_of
from headscope.circuits.patching.donor import Donor, record
from headscope.circuits.wiring import Wiring, wiring
from headscope.edits.sweep.answer_positions import WORTHWHILE
from headscope.edits.sweep.sweep import Sweep, can_be_swept
from headscope.errors import HeadscopeError
from headscope.models.own_thread import only_here, standing_in
from headscope.reading.ability import Ability
from headscope.reading.describe import trial_inputs

if TYPE_CHECKING:
    from headscope.circuits.patching.batch import PairBatch
    from headscope.reading import Scope

What = Literal["heads", "weights", "values", "mlps", "layers"]
Queries = Tensor | None  # b k, each pair's own positions; None: every position
HeadPlace = tuple[int, Queries]
Edit = TypeVar("Edit")


class PatchSweep(Sweep):
    """A sweep over the corrupted prompts whose replaced heads are the donor's."""

    def __init__(
        self,
        scope: Scope,
        wiring: Wiring,
        batch: PairBatch,
        donor: Donor,
        what: What,
        other: Callable[[Call], Tensor] | None = None,
    ) -> None:
        super().__init__(scope, wiring.stack, batch.corrupted, batch.read, self._donated)
        self.pairs = batch
        self.wiring, self.donor, self.what, self.other = wiring, donor, what, other
        self.wants_scores = other is not None

    def _positions_read(self) -> Tensor | None:
        """b 1: the answers' positions; a caller's own metric may read any position."""
        few = hidden_of(self._outputs[-1]).shape[1] >= WORTHWHILE
        return self.pairs.at[1][:, None] if few and not self.pairs.metric.own else None

    def replacement(self, call: Call) -> Tensor:
        """b t h d: this layer's head outputs with the donor's part in them."""
        assert call.v is not None
        if self.other is not None:
            return self.other(call)
        if self.what == "heads":
            return self.donor.heads[call.layer]
        there = self.donor.calls[call.layer]
        assert there.v is not None
        if self.what == "weights":
            return apply(there.weights, call.v)
        return apply(call.weights, there.v)

    def _donated(self, call: Call, weights: object) -> Tensor:
        """b h t s: for families in which only the weights can be replaced."""
        if self.what != "weights" or self.other is not None:
            raise HeadscopeError(
                f"{type(call.module).__name__} mixes its heads' outputs with other activations, "
                f"so they cannot be replaced one by one; patch its heads, weights, mlps or layers."
            )
        return self.donor.calls[call.layer].weights

    def head_answers(self, layer: int, edits: Sequence[HeadPlace], copies: int) -> Tensor:
        """e b o: with donor heads at the output projection, for families read at their softmax."""
        module = next(
            one for one in self.wiring.cuts[layer]
            if getattr(self.wiring.projections.get(id(one)), "kind", None) == self.stack.kind
        )  # fmt: skip
        donated = self.donor.heads[layer]  # b t h d

        def run(some: Sequence[HeadPlace]) -> Tensor:
            def put(module: nn.Module, given: Any) -> Any:
                flat = given[0]
                apart = flat.clone().reshape(len(some), *donated.shape)
                for copy, (head, queries) in enumerate(some):
                    _put(apart[copy, :, :, head], donated[:, :, head], queries)
                return (apart.reshape(flat.shape), *given[1:])

            with contextlib.ExitStack() as undo:
                undo.enter_context(self._reusing(layer, len(some)))
                undo.callback(module.register_forward_pre_hook(only_here(put)).remove)
                if self.last is not None and layer < len(self.stack.layers) - 1:
                    undo.enter_context(standing_in(self.stack.layers[-1], self.last.forward))
                return self._run(len(some))

        return self._each(edits, copies, run)

    def mlp_answers(self, layer: int, edits: Sequence[Queries], copies: int) -> Tensor:
        """e b o: with the donor's MLP output in one layer, at some queries or all."""
        writers = [
            module
            for module in self.wiring.cuts[layer]
            if id(module) in self.wiring.writers and id(module) not in self.wiring.projections
        ]
        donated = self.donor.mlps[layer]

        def run(some: Sequence[Queries]) -> Tensor:
            def put(module: nn.Module, given: Any, output: Tensor) -> Tensor:
                return _mixed(output, donated, some)

            with contextlib.ExitStack() as undo:
                undo.enter_context(self._reusing(layer, len(some)))
                for module in writers[-1:]:
                    handle = module.register_forward_hook(only_here(put))
                    undo.callback(handle.remove)
                if self.last is not None and layer < len(self.stack.layers) - 1:
                    undo.enter_context(standing_in(self.stack.layers[-1], self.last.forward))
                return self._run(len(some))

        return self._each(edits, copies, run)

    def layer_answers(self, layer: int, edits: Sequence[Queries], copies: int) -> Tensor:
        """e b o: with the donor's hidden state after one layer, at some queries or all."""
        own, donated = hidden_of(self._outputs[layer]), self.donor.hidden[layer]

        def run(some: Sequence[Queries]) -> Tensor:
            hidden = _mixed(own.repeat(len(some), 1, 1), donated, some)
            with contextlib.ExitStack() as undo:
                undo.enter_context(self._reusing(layer + 1, len(some), hidden))
                if self.last is not None and layer + 1 < len(self.stack.layers):
                    undo.enter_context(standing_in(self.stack.layers[-1], self.last.forward))
                return self._run(len(some))

        return self._each(edits, copies, run)

    def _each(
        self, edits: Sequence[Edit], copies: int, run: Callable[[Sequence[Edit]], Tensor]
    ) -> Tensor:
        found: list[Tensor] = []
        for start in range(0, len(edits), copies):
            some = edits[start : start + copies]
            flat = run(some)
            found.append(flat.reshape(len(some), self.batch, *flat.shape[1:]))
        return torch.cat(found)


def _sweepable(scope: Scope) -> Wiring:
    found = wiring(scope)
    if not can_be_swept(scope, found.stack):
        raise HeadscopeError(
            f"{scope.name} cannot be run from the middle of its layers, so activations of one "
            f"run cannot replace those of another; use hs.ablate, which runs the whole model "
            f"for every head."
        )
    return found


def _has_heads(scope: Scope) -> Wiring:
    found = PATCHED.of(scope)
    donor = record(scope, found, trial_inputs(scope.model))
    if len(donor.heads) != len(found.stack.layers):  # JetMoe's experts write, Zaya's are mixed
        raise HeadscopeError(
            f"The output projection of {scope.name}'s heads was not found in every layer, so "
            "their outputs cannot be replaced; pass what='weights', 'mlps' or 'layers'."
        )
    return found


PATCHED = Ability(("patch",), "patched", _sweepable)
HEADS_PATCHED = Ability(("patch(what='heads')",), "patched by its heads", _has_heads)


def _mixed(own: Tensor, donated: Tensor, edits: Sequence[Queries]) -> Tensor:
    """e·b t m: copies of `own`, each with the donor's rows at its queries."""
    batch = len(donated)
    mixed = own.clone().reshape(len(edits), batch, *own.shape[1:])
    for copy, queries in enumerate(edits):
        _put(mixed[copy], donated, queries)
    return mixed.reshape(own.shape)


def _put(own: Tensor, donated: Tensor, queries: Queries) -> None:
    """Replace rows (b t …) by the donor's, at some positions of each pair or all."""
    if queries is None:
        own[:] = donated
    else:
        pairs = torch.arange(len(own), device=own.device)[:, None]
        own[pairs, queries] = donated[pairs, queries]
