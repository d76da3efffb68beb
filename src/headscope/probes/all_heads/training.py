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
from headscope.runs.torch_state import packed, unpacked
from headscope.statistics.significance import FEWEST, Replicates, warn_few

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

    As a part of a run, training resumes from the last whole epoch.
    """
    part = part or Run(None, {}).part("training")
    rate = cast(float, getattr(probe, "learning_rate", 0.01))
    optimiser = torch.optim.Adam((p for p in probe.parameters() if p.requires_grad), lr=rate)
    generator = np.random.default_rng(seed)
    weights, best, since, epoch = copy.deepcopy(probe.state_dict()), -1.0, 0, 0
    if (state := part.recall()) is not None:
        kept, at = unpacked(state.arrays), state.position
        probe.load_state_dict(kept["probe"])
        optimiser.load_state_dict(kept["optimiser"])
        generator.bit_generator.state = at["order"]
        weights, best, since, epoch = kept["best"], at["best"], at["since"], at["epoch"]

    def packed_now() -> State:
        arrays = packed(probe=probe.state_dict(), optimiser=optimiser.state_dict(), best=weights)
        at = {"epoch": epoch, "since": since, "best": best, "order": generator.bit_generator.state}
        return State(copy.deepcopy(at), arrays)

    while epoch < epochs and since < patience:
        _run_epoch(probe, train, optimiser, generator)
        epoch += 1
        reached = score(probe, dev, interval=False).uas
        if progress:
            progress(epoch, reached)
        if reached > best:
            weights, best, since = copy.deepcopy(probe.state_dict()), reached, 0
        else:
            since += 1
            if since < patience:
                for group in optimiser.param_groups:
                    group["lr"] /= 2
        part.put(packed_now())
    probe.load_state_dict(weights)
    return epoch


def _run_epoch(
    probe: nn.Module,
    train: MapStore,
    optimiser: torch.optim.Optimizer,
    generator: np.random.Generator,
) -> None:
    probe.train()
    for number in generator.permutation(train.batches):
        batch = train[int(number)]
        loss = loss_of(probe(batch), batch)
        if not bool(loss.isfinite()):
            raise HeadscopeError(
                "A probe's loss became NaN, so it could not be trained; load "
                "the model with dtype='float32'."
            )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


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
    low, high = bootstrap.interval(share=True)[:, 0] if interval else (np.nan, np.nan)
    if interval and bootstrap.units[0] < FEWEST:
        warn_few(int(bootstrap.units[0]), "sentences")
    return Score(right / max(total, 1), float(low), float(high), total)


def right_branching(batch: MapBatch) -> Tensor:
    """Attach every word to the next one, the last to the root."""
    size, words = batch.heads.shape
    scores = torch.zeros(size, words, words + 1)
    length = batch.candidates.long().cumsum(dim=1).argmax(dim=1)  # the last word
    place = torch.arange(words)
    target = torch.where(place[None] < length[:, None], place[None] + 2, 0)
    return scores.scatter_(2, target.clamp(max=words)[..., None], 1.0)


@torch.inference_mode()
def carried(probe: nn.Module, store: MapStore) -> Tensor:
    """2k: how much each map, and each transposed map, raises the right head above the others.

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
