"""Train a probe on stored maps and score it: seeded, in batches, stopped early."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from headscope.probes.all_heads.maps import MapBatch, MapStore
from headscope.probes.bootstrap import Bootstrap

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
    progress: Callable[[int, float], None] | None = None,
) -> int:
    """Train until the dev score stops rising; the best state is kept. Returns the epochs run."""
    rate = cast(float, getattr(probe, "learning_rate", 0.01))
    optimiser = torch.optim.Adam((p for p in probe.parameters() if p.requires_grad), lr=rate)
    generator = np.random.default_rng(seed)
    best, kept, since, epoch = -1.0, copy.deepcopy(probe.state_dict()), 0, 0
    for epoch in range(1, epochs + 1):
        probe.train()
        for number in generator.permutation(train.batches):
            batch = train[int(number)]
            loss = loss_of(probe(batch), batch)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        reached = score(probe, dev, interval=False).uas
        if progress:
            progress(epoch, reached)
        if reached > best:
            best, kept, since = reached, copy.deepcopy(probe.state_dict()), 0
        else:
            since += 1
            if since >= patience:
                break
            for group in optimiser.param_groups:
                group["lr"] /= 2
    probe.load_state_dict(kept)
    return epoch


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
    bootstrap = Bootstrap(1, seed)
    for number, batch in enumerate(store):
        found = (probe(batch).argmax(dim=-1) == batch.heads) & batch.scored
        hits, counts = found.sum(dim=1), batch.scored.sum(dim=1)
        right, total = right + int(hits.sum()), total + int(counts.sum())
        if interval:
            bootstrap.add(hits[:, None].double().numpy(), counts[:, None].double().numpy(), number)
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
