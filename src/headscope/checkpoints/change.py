"""Change points: the step at which a series of numbers goes from one level to another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.significance import FEWEST

Floats = NDArray[np.float64]
DRAWS = 200


@dataclass(frozen=True)
class Change:
    """The first step of the new level, its 95 % interval, both levels, and how long the change
    takes.

    The change begins at the last step before the split with less than a tenth of the rise, and ends
    at the first step from the split on with nine tenths of it.
    """

    step: float
    low: float
    high: float
    before: float
    after: float
    begins: float
    ends: float


def change_point(steps: Floats, values: Floats, seed: int = 0) -> Change | None:
    """The split into two levels with the least squared error; None if there are too few steps.

    The interval comes from resampled residuals around the two levels.
    """
    steps, values = np.asarray(steps, float), np.asarray(values, float)
    known = np.isfinite(values)
    steps, values = steps[known], values[known]
    if len(values) < FEWEST or np.ptp(values) == 0:
        return None
    at = _split(values[None])[0]
    before, after = float(values[:at].mean()), float(values[at:].mean())
    level = np.where(np.arange(len(values)) < at, before, after)
    luck = np.random.default_rng(seed)
    # two levels and the split were fitted: three degrees of freedom less
    rest = (values - level) * np.sqrt(len(values) / (len(values) - 3))
    drawn = level + rest[luck.integers(0, len(values), (DRAWS, len(values)))]
    found = steps[_split(drawn)]
    low, high = np.percentile(found, (2.5, 97.5), method="nearest")
    gone = (values - before) / (after - before)
    begun, done = np.flatnonzero(gone[:at] < 0.1), np.flatnonzero(gone[at:] > 0.9)
    begins = float(steps[begun[-1]]) if len(begun) else float("nan")
    ends = float(steps[at + done[0]]) if len(done) else float("nan")
    return Change(float(steps[at]), float(low), float(high), before, after, begins, ends)


def _split(rows: Floats) -> NDArray[np.intp]:
    """n: where each row (n × steps) is best split, from 1 to the last step."""
    count = rows.shape[1]
    left = np.arange(1, count)
    sums = rows.cumsum(1)[:, :-1]
    rest = rows.sum(1, keepdims=True) - sums
    # the squares that two levels explain
    explained = sums**2 / left + rest**2 / (count - left)
    return explained.argmax(1) + 1


def stays_from(steps: Floats, holds: NDArray[np.bool_]) -> float:
    """The first step from which something holds to the end; NaN where it does not hold there."""
    failing = np.flatnonzero(~np.asarray(holds, bool))
    first = 0 if not len(failing) else int(failing[-1]) + 1
    return float(steps[first]) if first < len(steps) else float("nan")
