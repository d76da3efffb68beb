"""A pattern: a named behaviour of a head, with a score for every map.

Each score comes with two yardsticks. `uniform` is what a head that attends evenly to all it
sees would score. `null` is what this very head would score if its weights were dealt out again
at random among the keys the pattern chooses from (the pool), each query for itself; its mean
and variance over all such permutations have closed forms, so nothing is simulated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headscope.patterns.grid import Bools, Floats, Grid

Values = NDArray[np.float64]
Reads = Literal["text", "repeats"]


@dataclass(frozen=True, eq=False)
class Scores:
    """One map's scores, per head."""

    score: Values  # h
    uniform: Values  # h
    null: Values  # h, mean over permutations of the keys
    variance: Values  # h, variance over permutations of the keys


@dataclass(frozen=True, eq=False)
class Targets:
    """For every query the keys a pattern points at, out of the keys it chooses from."""

    mask: Bools  # t s
    pool: Bools  # t s, holds the mask

    def rows(self) -> Bools:
        """Queries with something to choose: a target, and a key that is not one."""
        aimed, choice = self.mask.sum(1), self.pool.sum(1)
        return (aimed > 0) & (aimed < choice)


@dataclass(frozen=True)
class Pattern(ABC):
    """What every pattern has; `score` gives None where the pattern is not defined."""

    name: str
    label: str
    about: str
    cut: float  # the least score that earns the label
    lift: float = 2.0  # the least ratio to uniform attention that earns the label
    reads: Reads = "text"
    causal: bool | None = None  # only for causal maps, only for the others, or for both

    def applies(self, grid: Grid) -> bool:
        return self.causal is None or self.causal == grid.causal

    @abstractmethod
    def score(self, weights: Floats, grid: Grid) -> Scores | None:
        """Scores of the heads of one map; weights are h t s, after softmax."""


@dataclass(frozen=True)
class MassPattern(Pattern):
    """Attention on a set of target keys, averaged over the queries that have one."""

    targets: Callable[[Grid], Targets | None] = field(default=lambda grid: None)

    def score(self, weights: Floats, grid: Grid) -> Scores | None:
        aim = self.targets(grid) if self.applies(grid) else None
        if aim is None or not (rows := aim.rows()).any():
            return None
        mask, pool, seen = aim.mask[rows], aim.pool[rows], grid.visible[rows]
        chosen = weights[:, rows].astype(np.float64)
        aimed, choice = mask.sum(1), pool.sum(1)  # t
        mass = np.einsum("hts,ts->ht", chosen, pool)
        squares = np.einsum("hts,ts->ht", np.square(chosen), pool)
        # Drawing `aimed` of `choice` weights without replacement: the mean of their sum is
        # mass·aimed/choice, its variance aimed(choice−aimed)/choice/(choice−1) × spread.
        spread = np.clip(squares - mass**2 / choice, 0, None)
        factor = aimed * (choice - aimed) / (choice * np.maximum(choice - 1, 1))
        count = rows.sum()
        return Scores(
            score=np.einsum("hts,ts->h", chosen, mask) / count,
            uniform=np.full(len(weights), (aimed / seen.sum(1)).mean()),
            null=(mass * aimed / choice).sum(1) / count,
            variance=(spread * factor).sum(1) / count**2,
        )


@dataclass(frozen=True)
class RankPattern(Pattern):
    """Spearman correlation, query by query, of attention with a relation between tokens.

    Uniform attention has no rank, so its score is 0; dealing the weights out again gives a
    correlation with mean 0 and variance 1/(n−1), whatever the weights.
    """

    relation: Callable[[Grid], tuple[Floats, Bools] | None] = field(default=lambda grid: None)

    def score(self, weights: Floats, grid: Grid) -> Scores | None:
        found = self.relation(grid) if self.applies(grid) else None
        return None if found is None else rank_scores(weights, *found)


def rank_scores(weights: Floats, relation: Floats, pool: Bools, least: int = 4) -> Scores | None:
    """Mean Spearman correlation of each head's rows with the rows of `relation` over `pool`."""
    from scipy.stats import rankdata

    sums, variance, count = np.zeros(len(weights)), 0.0, 0
    for i in np.flatnonzero(pool.sum(1) >= least):
        keys = pool[i]
        aim = rankdata(relation[i, keys])
        aim = aim - aim.mean()
        if not aim.any():
            continue
        rank = rankdata(weights[:, i, keys], axis=1)
        rank = rank - rank.mean(1, keepdims=True)
        norm = np.sqrt((rank**2).sum(1) * (aim**2).sum())
        sums += np.divide(rank @ aim, norm, out=np.zeros(len(weights)), where=norm > 0)
        variance += 1 / (keys.sum() - 1)
        count += 1
    if not count:
        return None
    zero = np.zeros(len(weights))
    return Scores(sums / count, zero, zero, np.full(len(weights), variance / count**2))
