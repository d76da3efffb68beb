"""Train a probe on stored maps and score it: seeded, in batches, stopped early."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from headscope.errors import HeadscopeError
from headscope.probes.all_heads.maps import MapBatch, MapStore
from headscope.runs import Run, RunPart, State
from headscope.runs.torch_state import (
    pack_tensors,
    pack_training,
    unpack_tensors,
    unpack_training,
)
from headscope.statistics.replicates import Replicates

EPOCHS = 12
PATIENCE = 2  # epochs without a better score on the dev part


@dataclass(frozen=True)
class Score:
    """Unlabelled attachment score: the share of words (punctuation aside) whose head is found."""

    uas: float
    low: float
    high: float
    words: int


def fit(
    probe: nn.Module,
    train: MapStore,
    dev: MapStore,
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    patience: int = PATIENCE,
    part: RunPart | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> int:
    """Train until the dev score stops rising; the best state is kept. Returns the epochs run.

    As a part of a run, training goes on from the last whole epoch.
    """
    part = part or Run(None, {}).part("training")
    fitting = _Fitting(probe, train, seed)
    fitting.restore(part.recall())
    while fitting.epoch < epochs and fitting.since < patience:
        fitting.run_epoch()
        reached = score(probe, dev, interval=False).uas
        if progress:
            progress(fitting.epoch, reached)
        with part.step(fitting.state):
            fitting.judge(reached, patience)
    probe.load_state_dict(fitting.best_weights)
    return fitting.epoch


class _Fitting:
    """A probe in training: its optimiser, the order of batches, and the best weights so far."""

    def __init__(self, probe: nn.Module, train: MapStore, seed: int) -> None:
        self._probe, self._train = probe, train
        rate = cast(float, getattr(probe, "learning_rate", 0.01))
        trained = (p for p in probe.parameters() if p.requires_grad)
        self._optimiser = torch.optim.Adam(trained, lr=rate)
        self._generator = np.random.default_rng(seed)
        self.best_weights = copy.deepcopy(probe.state_dict())
        self._best, self.since, self.epoch = -1.0, 0, 0
        self._whole = State({})  # as it was after the last epoch

    def run_epoch(self) -> None:
        self._probe.train()
        for number in self._generator.permutation(self._train.batches):
            batch = self._train[int(number)]
            loss = loss_of(self._probe(batch), batch)
            if not bool(loss.isfinite()):
                raise HeadscopeError("A probe's loss is not a number; its maps cannot be learnt.")
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()
        self.epoch += 1

    def judge(self, reached: float, patience: int) -> None:
        """Keep the weights if they are the best, else learn more slowly or stop."""
        if reached > self._best:
            self._best, self.since = reached, 0
            self.best_weights = copy.deepcopy(self._probe.state_dict())
        else:
            self.since += 1
            if self.since < patience:
                for group in self._optimiser.param_groups:
                    group["lr"] /= 2
        self._whole = self._packed()

    def state(self) -> State:
        return self._whole

    def _packed(self) -> State:
        arrays, groups = pack_training(self._probe, self._optimiser)
        arrays |= pack_tensors("best", self.best_weights)
        position = {
            "epoch": self.epoch, "since": self.since, "best": self._best, "groups": groups,
            "order": self._generator.bit_generator.state,
        }  # fmt: skip
        # copies: the next epoch changes the tensors in place
        return State(copy.deepcopy(position), {n: a.copy() for n, a in arrays.items()})

    def restore(self, state: State | None) -> None:
        if state is None:
            return
        at = state.position
        unpack_training(self._probe, self._optimiser, state.arrays, at["groups"])
        self.best_weights = unpack_tensors("best", state.arrays)
        self._generator.bit_generator.state = at["order"]
        self.epoch, self.since, self._best = at["epoch"], at["since"], at["best"]


def loss_of(scores: Tensor, batch: MapBatch) -> Tensor:
    """Cross-entropy of the right head, averaged over the words that train."""
    losses = nn.functional.cross_entropy(
        scores[batch.counted], batch.heads[batch.counted], reduction="sum"
    )
    return losses / batch.counted.sum().clamp(min=1)


@torch.inference_mode()
def score(
    probe: Callable[[MapBatch], Tensor], store: MapStore, *, seed: int = 0, interval: bool = True
) -> Score:
    """UAS on a store, with a bootstrap interval over sentences."""
    if isinstance(probe, nn.Module):
        probe.eval()
    right = total = 0
    bootstrap = Replicates(1, seed)
    for number, batch in enumerate(store):
        found = (probe(batch).argmax(dim=-1) == batch.heads) & batch.scored
        hits, counts = found.sum(dim=1), batch.scored.sum(dim=1)
        right, total = right + int(hits.sum()), total + int(counts.sum())
        if interval:
            bootstrap.add_batch(
                number, hits[:, None].double().numpy(), counts[:, None].double().numpy()
            )
    low, high = bootstrap.interval()[:, 0] if interval else (np.nan, np.nan)
    return Score(right / max(total, 1), float(low), float(high), total)


def right_branching(batch: MapBatch) -> Tensor:
    """Every word hangs on the next one, the last on the root."""
    size, words = batch.heads.shape
    scores = torch.zeros(size, words, words + 1)
    length = batch.candidates.long().cumsum(dim=1).argmax(dim=1)  # the last word
    place = torch.arange(words)
    target = torch.where(place[None] < length[:, None], place[None] + 2, 0)
    return scores.scatter_(2, target.clamp(max=words)[..., None], 1.0)


@torch.inference_mode()
def carried(probe: nn.Module, store: MapStore) -> Tensor:
    """2k: how much each map, and each map turned round, lifts the right head over the others.

    The mean over scored words of what the map adds to the right candidate, minus what it adds
    to the average candidate.
    """
    probe.eval()
    contributions = cast(Callable[[MapBatch], Tensor], getattr(probe, "contributions"))  # noqa: B009
    total, words = torch.zeros(0), 0
    for batch in store:
        added = contributions(batch)  # b w 2k 1+w
        allowed = torch.cat([torch.ones(len(added), 1, dtype=torch.bool), batch.candidates], dim=1)
        target = batch.heads[:, :, None, None].expand(-1, -1, added.shape[2], 1)
        gold = added.gather(3, target)[..., 0]
        mean = (added * allowed[:, None, None]).sum(dim=3) / allowed.sum(dim=1)[:, None, None]
        lift = (gold - mean)[batch.scored].sum(dim=0)
        total = lift if not len(total) else total + lift
        words += int(batch.scored.sum())
    return total / max(words, 1)
