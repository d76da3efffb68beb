"""Path patching: the effect of one head through one later head alone.

First the sender is patched while every other head keeps its output on the corrupted prompt, so that
the change travels through the stream and the MLPs alone; the later head's new queries, keys or
values are recorded. Then that head alone runs with them (Goldowsky-Dill et al. 2023).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from headscope.arguments import need_scope
from headscope.capture import Call
from headscope.capture.interface import apply
from headscope.capture.softmax import weights_of
from headscope.circuits.patching.batch import PairBatch, batches, trial_batch
from headscope.circuits.patching.donor import Donor, record
from headscope.circuits.patching.pairs import asked_of
from headscope.circuits.patching.result import Floats, share_of
from headscope.circuits.patching.swept import HEADS_PATCHED, PatchSweep
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import Wiring
from headscope.errors import BadInput, HeadscopeError
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import only_here
from headscope.reading.ability import Ability
from headscope.results import HeadResult, tidy

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

Through = Literal["q", "k", "v"]


@dataclass(frozen=True, eq=False, repr=False)
class Paths(HeadResult):
    """How much of the clean answer the path from one head to each later head restores."""

    model: str
    task: str
    kind: str
    sender: tuple[int, int]
    through: str
    shares: Floats  # layer head
    direct: float  # through the path to the output that passes no other head
    count: int

    @property
    def title(self) -> str:
        return f"{self.task}: from head {self.sender[0]}-{self.sender[1]} through {self.through}"

    @property
    def table(self) -> pd.DataFrame:
        import pandas as pd

        layer, head = np.nonzero(np.isfinite(self.shares))
        frame = pd.DataFrame({"layer": layer, "head": head, "value": self.shares[layer, head]})
        return tidy(frame, kind=self.kind, measure="path", count=self.count)


def path_patch(
    scope: Scope,
    clean: Any,
    corrupted: str | Sequence[str] | None = None,
    metric: object = None,
    *,
    answers: object = None,
    sender: tuple[int, int],
    through: Through = "k",
) -> Paths:
    """The effect of one head through each later head's queries, keys or values.

    Parameters
    ----------
    scope
        The model.
    clean, corrupted, metric, answers
        As in `hs.patch`.
    sender
        The earlier head: (layer, head).
    through
        Which input of the later heads is patched: "q", "k" or "v".

    Returns
    -------
    Paths
        The share of the clean answer that each path restores, over all pairs.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load()
    >>> prompts = "The cat [MASK] on the mat.", "The dog [MASK] on the mat."
    >>> paths = hs.circuits.path_patch(scope, *prompts, answers=("sat", "ran"), sender=(0, 1))
    >>> list(paths.table.columns[:2])
    ['kind', 'layer']
    """
    need_scope(scope)
    scope = unrolled(scope)
    found = PATHS_PATCHED.of(scope)
    layers, heads = len(found.stack.layers), scope.heads[found.stack.kind]
    if not (0 <= sender[0] < layers - 1 and 0 <= sender[1] < heads):
        raise BadInput(
            f"A sender is a head below the last layer: (layer 0 to {layers - 2}, head 0 to "
            f"{heads - 1}), not {sender}."
        )
    pairs, marks = asked_of(clean, corrupted, metric, answers)
    effects: list[Floats] = []
    ends: list[Floats] = []
    for batch in batches(scope, pairs, marks):
        effect, whole = _of_batch(scope, found, batch, sender, through)
        effects.append(effect)
        ends.append(whole)
    shares = share_of(np.concatenate(effects, axis=1), np.concatenate(ends))
    grid = np.full((layers, heads), np.nan)
    grid[sender[0] + 1 :] = shares[1:].reshape(-1, heads)
    direct = float(shares[0])
    return Paths(
        scope.name, pairs.name, found.stack.kind, sender, through, grid, direct, len(pairs)
    )


def _hears(scope: Scope) -> Wiring:
    """Whether the last layer's heads can read a head of the layer before."""
    found = HEADS_PATCHED.of(scope)
    if not scope.description.reads_values:
        raise HeadscopeError(
            f"{scope.name} does not expose its queries, keys and values, so no path to them can be "
            "patched."
        )
    last = len(found.stack.layers) - 1
    if last:
        _of_batch(scope, found, trial_batch(scope), (last - 1, 0), "k")
    return found


PATHS_PATCHED = Ability(("path_patch",), "patched along paths", _hears)


def _of_batch(
    scope: Scope, found: Wiring, batch: PairBatch, sender: tuple[int, int], through: Through
) -> tuple[Floats, Floats]:
    """1+e b: the direct path's effect, then each later head's; and clean − corrupted (b)."""
    with torch.no_grad():
        donor = record(scope, found, batch.clean)
        own = record(scope, found, batch.corrupted)
        told, spoken = _message(scope, found, batch, donor, own, sender)
    base = batch.read(own.output)[:, 0]
    rows = [batch.read(spoken)[:, 0] - base]
    layers, heads = len(found.stack.layers), scope.heads[found.stack.kind]
    for layer in range(sender[0] + 1, layers):
        hearing = _hearing(told[layer], through)
        with PatchSweep(scope, found, batch, donor, "heads", hearing) as sweep:
            answers = sweep.answers(layer, [(head,) for head in range(heads)], 4)
            rows += list(answers[:, :, 0] - sweep.baseline[:, 0])
    whole = batch.read(donor.output, clean=True)[:, 0] - base
    return torch.stack(rows).double().cpu().numpy(), whole.double().cpu().numpy()


def _message(
    scope: Scope,
    found: Wiring,
    batch: PairBatch,
    donor: Donor,
    own: Donor,
    sender: tuple[int, int],
) -> tuple[dict[int, Call], Any]:
    """The calls of later layers after the sender was patched, and the model's output."""
    told: dict[int, Call] = {}

    def put(layer: int) -> Callable[..., Any]:
        kept = own.heads[layer].clone()
        if layer == sender[0]:
            kept[:, :, sender[1]] = donor.heads[layer][:, :, sender[1]]

        def frozen(module: nn.Module, given: Any) -> Any:
            return (kept.reshape(given[0].shape), *given[1:])

        return frozen

    def note(call: Call) -> None:
        if call.kind == found.stack.kind:
            told[call.layer] = call

    with stopped_safely(), contextlib.ExitStack() as undo:
        for layer in range(sender[0], len(found.stack.layers)):
            for module in found.cuts[layer]:
                projection = found.projections.get(id(module))
                if projection is not None and projection.kind == found.stack.kind:
                    handle = module.register_forward_pre_hook(only_here(put(layer)))
                    undo.callback(handle.remove)
        spoken = scope.forward(batch.corrupted, note, lazy=True, scores=True)
    return told, spoken


def _hearing(told: Call, through: Through) -> Callable[[Call], Tensor]:
    """b t h d: a layer's head outputs with the patched queries, keys or values."""

    def heard(call: Call) -> Tensor:
        assert call.q is not None and call.k is not None and call.v is not None
        assert told.q is not None and told.k is not None and told.v is not None
        if through == "v":
            return apply(call.weights, told.v)
        q, k = (told.q, call.k) if through == "q" else (call.q, told.k)
        rows = torch.arange(q.shape[2], device=q.device)
        return apply(weights_of(call, q, k, rows), call.v)

    return heard
