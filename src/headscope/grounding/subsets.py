"""Many sources with few passes: random subsets of the context and a sparse regression on them.

As in ContextCite (Cohen-Wang et al. 2024): an answer rests on few sources, so its log-probability
after a random half of the context is close to a sum over a few of the kept sources.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.significance import FEWEST, warn_few

Floats = NDArray[np.float64]
KEPT = 0.5  # share of the sources in a subset
LEAST_FREE = 4  # fewest passes beyond the number of found sources for an interval


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
    value = _fitted(kept, said)
    low, high = _interval(kept, said, value)
    return Estimate(value, low, high)


def _interval(kept: NDArray[np.bool_], said: Floats, value: Floats) -> tuple[Floats, Floats]:
    """95 % intervals; NaN if there are too few passes, or too few are left over.

    A Lasso shrinks its values to zero, and resampling does not undo that. As subsets are random,
    the residuals show by how much: the de-biased Lasso with its degrees of freedom (Bellec and
    Zhang 2023). The interval is extended to the value if that lies outside.
    """
    from scipy.special import stdtrit

    given, passes = kept - kept.mean(0), len(kept)
    if passes < FEWEST:
        warn_few(passes, "passes")
        nothing = np.full(value.shape, np.nan)
        return nothing, nothing
    left = said - said.mean(0) - given @ value.T  # passes × sentences
    free = passes - (np.abs(value) > 1e-9).sum(1)[:, None].astype(float)
    free[free < LEAST_FREE] = np.nan
    variance = KEPT * (1 - KEPT)
    centre = value + left.T @ (kept - KEPT) / (free * variance)
    error = np.sqrt((left**2).sum(0)[:, None] / (free * variance * free))
    reach = stdtrit(free - 1, 0.975) * error
    return np.minimum(centre - reach, value), np.maximum(centre + reach, value)


def _fitted(kept: NDArray[np.bool_], said: Floats) -> Floats:
    """Coefficients of a Lasso, sentences × sources."""
    from sklearn.linear_model import LassoCV

    given = kept.astype(float) - KEPT
    found: list[Floats] = []
    for answer in said.T:
        if np.ptp(answer) < 1e-9:
            found.append(np.zeros(kept.shape[1]))
            continue
        model: Any = LassoCV(alphas=30, cv=min(5, len(given)), max_iter=5_000).fit(given, answer)
        found.append(np.asarray(model.coef_, dtype=float))
    return np.stack(found)
