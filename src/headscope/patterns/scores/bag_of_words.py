"""Attention spread evenly over the query's own sentence: mass there × evenness there.

With m the mass on the sentence S and H the entropy within it, the score m·H/ln|S| equals
(−Σ_S α ln α + m ln m)/ln|S|. Under permutation of the keys the first term is a plain sum and
the second depends on a sum, so mean and variance follow from the delta method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headscope.patterns.grid import Floats, Grid
from headscope.patterns.pattern import Pattern, Scores, Values


@dataclass(frozen=True)
class BagOfWords(Pattern):
    def score(self, weights: Floats, grid: Grid) -> Scores | None:
        if not self.applies(grid) or not grid.square or not grid.pair:
            return None
        seen, own = grid.visible, grid.visible & grid.same_segment
        size, choice = own.sum(1), seen.sum(1)
        rows = grid.query.content & (size > 1) & (size < choice)
        if not rows.any():
            return None
        own, seen, size, choice = own[rows], seen[rows], size[rows], choice[rows]
        chosen = weights[:, rows].astype(np.float64)
        plogp = -chosen * np.log(np.maximum(chosen, 1e-30))
        mass = np.einsum("hts,ts->ht", chosen, own)
        score = (np.einsum("hts,ts->ht", plogp, own) + _xlogx(mass)) / np.log(size)
        total = np.einsum("hts,ts->ht", chosen, seen)
        mean = total * size / choice
        factor = size * (choice - size) / (choice * (choice - 1))
        spread = np.einsum("hts,ts->ht", np.square(chosen), seen) - total**2 / choice
        null = np.einsum("hts,ts->ht", plogp, seen) * size / choice + _xlogx(mean)
        null = null + factor * np.clip(spread, 0, None) / (2 * mean)
        slope = plogp + (1 + np.log(mean))[..., None] * chosen
        slope_sum = np.einsum("hts,ts->ht", slope, seen)
        slope_spread = np.einsum("hts,ts->ht", np.square(slope), seen) - slope_sum**2 / choice
        variance = factor * np.clip(slope_spread, 0, None) / np.log(size) ** 2
        count = len(size)
        return Scores(
            score=score.mean(1),
            uniform=np.full(len(weights), (size / choice).mean()),
            null=(null / np.log(size)).mean(1),
            variance=variance.sum(1) / count**2,
        )


def _xlogx(values: Values) -> Values:
    return values * np.log(np.maximum(values, 1e-30))


pattern = BagOfWords(
    name="bag_of_words",
    label="bag of words",
    about="spreads its attention evenly over its own sentence",
    cut=0.6,
    lift=1.3,
    causal=False,
)
