"""Many sources with few passes: random subsets of the context and a sparse regression on them.

ContextCite's way (Cohen-Wang et al. 2024): an answer rests on few sources, so the log-probability
after a random half of the context is close to a sum over few of those that were kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
KEPT = 0.5  # share of the sources in a subset
DRAWS = 40  # resamples behind an interval
INTERVAL = (2.5, 97.5)  # percentiles


@dataclass(frozen=True, eq=False)
class Estimate:
    """What each source adds to the log-probability, with its interval; sentences × sources."""

    value: Floats
    low: Floats
    high: Floats


def subset_scores(
    sources: int,
    passes: int,
    answer_after: Callable[[NDArray[np.bool_]], Floats],
    seed: int = 0,
) -> Estimate:
    """Spend `passes` on random subsets (passes × sources, True: kept) and fit a Lasso to them.

    `answer_after` gives passes × sentences, the log-probabilities after each subset.
    """
    chance = np.random.default_rng(seed)
    kept = chance.random((passes, sources)) < KEPT
    said = answer_after(kept)
    value, alphas = _fitted(kept, said, None)
    draws: list[Floats] = []
    for _ in range(DRAWS):
        rows = chance.integers(0, passes, passes)
        draws.append(_fitted(kept[rows], said[rows], alphas)[0])
    low, high = np.percentile(np.stack(draws), INTERVAL, axis=0)
    return Estimate(value, np.minimum(low, value), np.maximum(high, value))


def _fitted(
    kept: NDArray[np.bool_], said: Floats, alphas: list[float] | None
) -> tuple[Floats, list[float]]:
    """Coefficients (sentences × sources), and how strongly each fit was held back."""
    from sklearn.linear_model import Lasso, LassoCV

    given = kept.astype(float) - KEPT
    found: list[Floats] = []
    used: list[float] = []
    for at in range(said.shape[1]):
        if np.ptp(said[:, at]) < 1e-9:
            found.append(np.zeros(kept.shape[1]))
            used.append(0.0 if alphas is None else alphas[at])
            continue
        model: Any
        if alphas is None:
            model = LassoCV(alphas=30, cv=min(5, len(given)), max_iter=5_000).fit(
                given, said[:, at]
            )
            used.append(float(model.alpha_))
        else:
            used.append(alphas[at])
            model = Lasso(alpha=max(alphas[at], 1e-6), max_iter=5_000).fit(given, said[:, at])
        found.append(np.asarray(model.coef_, dtype=float))
    return np.stack(found), used
