"""Which calls a kernel may rebuild: those where its weights equal the model's own.

Kernels compute weights from q, k and the batch's tokens. Whether a family does more is tested once
per model: two short texts, one of them padded, with the model's own weights beside the rebuilt
ones. A layer that disagrees is measured on the model's own weights, which is always right but needs
more memory.
"""

from __future__ import annotations

import dataclasses

import torch

from headscope.capture import Call, Kind
from headscope.capture.call import Lazy
from headscope.corpus.text.batches import Encoder
from headscope.corpus.text.segments import Segment
from headscope.errors import BadInput
from headscope.reading import Scope
from headscope.reading.ability import Ability
from headscope.statistics.features.grid import Grid, grids
from headscope.statistics.kernels.scores import block_weights, can_rebuild

TEXTS = ("The cat sat on the mat, and the dog ran to the house.", "It was one of two.")


class Rebuildable:
    """Whether the weights of a call's layer can be rebuilt."""

    def __init__(self, layers: frozenset[tuple[Kind, int]]) -> None:
        self.layers = layers

    def __call__(self, call: Call) -> bool:
        return (call.kind, call.layer) in self.layers


def rebuildable(scope: Scope) -> Rebuildable:
    """Test the model of a scope (without its edits), or return the cached result."""
    return Rebuildable(SURVEYED.of(scope))


def _try(scope: Scope) -> frozenset[tuple[Kind, int]]:
    agreed: set[tuple[Kind, int]] = set()
    pairs = [Segment(number, number, text, text) for number, text in enumerate(TEXTS)]
    plain = Scope(scope.model, scope.tokenizer, scope.name)
    batch = next(Encoder.of(plain, most_tokens=10**6).batches(pairs))
    on = grids(plain, batch)

    def compare(call: Call) -> None:
        grid = on.get(call.kind)
        if grid is None:
            return
        call = fitted(call, grid)
        if not can_rebuild(call):
            return
        every, queries = slice(0, len(batch.documents)), slice(0, grid.query.ids.shape[1])
        rebuilt = block_weights(call, grid, every, queries)
        own = call.weights.float()
        if rebuilt.shape != own.shape:
            return
        apart = ((rebuilt - own).abs().amax((1, 3)) * grid.query.valid).max()
        if float(apart) < _tolerance(own=call.weights.dtype):
            agreed.add((call.kind, call.layer))

    plain.forward(batch.on(plain.device), compare, lazy=True)
    return frozenset(agreed)


SURVEYED = Ability(("survey", "patterns", "atlas"), "surveyed", _try)


def fitted(call: Call, grid: Grid) -> Call:
    """The call on the tokens alone: Longformer pads to whole windows, ProphetNet looks ahead."""
    queries, keys = grid.query.ids.shape[1], grid.key.ids.shape[1]
    if call.q is not None and call.k is not None:
        size = (call.q.shape[2], call.k.shape[2])
    else:
        size = (call.weights.shape[2], call.weights.shape[3])
    if size == (queries, keys):
        return call
    if size[0] < queries or size[1] < keys:
        raise BadInput(
            f"Layer {call.layer} of this model attends with {size[0]} × {size[1]} positions, which "
            f"are not the {queries} × {keys} tokens of the texts (it pools them); use "
            "scope.capture."
        )
    return dataclasses.replace(
        call,
        q=None,
        k=None,
        v=None if call.v is None else call.v[:, :, :keys],
        lazy_weights=Lazy(lambda: call.weights[:, :, :queries, :keys]),
    )


def _tolerance(own: torch.dtype) -> float:
    """The tolerance: half precision rounds weights; a wrong mask or bias moves them much more."""
    return 2e-4 if own == torch.float32 else 3e-2
