"""Rules for every p-value and interval: enough units, and correction for multiple tests."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import FewUnits

Array = NDArray[np.float64]
FEWEST = 6  # units (texts, examples, pairs): 2 · 2⁻⁶ is the first exact p-value below 5 %
CHUNK = 500  # draws at a time: bounds memory at examples × 500
EVERY = 12  # up to this many units, all exchanges are tried


def warn_few(count: int, unit: str) -> None:
    """Warn why intervals and p-values are NaN."""
    named = unit.removesuffix("s") if count == 1 else unit
    verb = "is" if count == 1 else "are"
    warnings.warn(
        f"{count} {named} {verb} too few for an interval or a p-value (at least {FEWEST} are "
        "needed); both are NaN.",
        FewUnits,
        stacklevel=3,
    )


def holm(p: Array) -> Array:
    """Holm's step-down correction, which limits the chance of any false positive. NaN stays NaN."""
    corrected = np.full(len(p), np.nan)
    asked = np.flatnonzero(~np.isnan(p))
    order = asked[np.argsort(p[asked])]
    stepped = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    corrected[order] = np.minimum(1.0, stepped)
    return corrected


def sign_flip(values: Array, draws: int = 10_000, seed: int = 0) -> Array:
    """e: two-sided p-values of means of e n values, by random signs."""
    if values.shape[1] < FEWEST:
        return np.full(len(values), np.nan)
    signs, exact = deals(values.shape[1], draws, seed)
    observed = np.abs(values.sum(1))
    count = np.zeros(len(values))
    total = 0
    for some in signs:
        found = np.abs((1 - 2 * some) @ values.T)
        count += (found >= observed * (1 - 1e-9) - 1e-15).sum(0)
        total += len(some)
    return count / total if exact else (1 + count) / (1 + total)


def deals(n: int, draws: int, seed: int) -> tuple[list[Array], bool]:
    """0/1 for each unit (d n): all exchanges if units are few, else random ones."""
    if n <= EVERY:
        numbers = np.arange(2**n)
        return [((numbers[:, None] >> np.arange(n)) & 1).astype(np.float64)], True
    generator = np.random.default_rng([seed, 1])
    sizes = [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]
    return [generator.integers(0, 2, (size, n)).astype(np.float64) for size in sizes], False


REPLICATES = 1000


class Replicates:
    """Replicated sums of values and of their counts, for a row of quantities.

    Every replicate counts each unit a Poisson number of times. Drawing n of n units (documents,
    sentences) with replacement gives each a count that is Poisson(1) as n grows, and independent
    counts need no second pass over the units (Chamandy et al. 2012). Only sums are kept, so memory
    does not grow with the data. Percentiles of few replicated units are too narrow (Hesterberg
    2015), so intervals are t-intervals with the replicates' standard error; those of shares are
    Wilson's, with the number of cases that have this error (Franco et al. 2019).
    """

    def __init__(self, width: int, seed: int = 0, replicates: int = REPLICATES) -> None:
        self.seed = seed
        self.sums = np.zeros((replicates, width))
        self.counts = np.zeros((replicates, width))
        # unreplicated: sums, counts, and units with a count
        self.whole = np.zeros((3, width))

    def add_units(self, numbers: NDArray[np.int64], sums: Array, counts: Array) -> None:
        """Add units (units × width each) whose draws are seeded by their own number.

        Counts are the same for every statistic, split and machine.
        """
        drawn = [
            np.random.Generator(np.random.Philox(key=[self.seed, int(number)]))
            .poisson(1.0, len(self.sums))
            .astype(np.float64)
            for number in numbers
        ]
        self._add(np.stack(drawn, axis=1), sums, counts)

    def add_batch(self, batch: int, sums: Array, counts: Array) -> None:
        """Add the units of a batch, whose number makes the draws repeatable."""
        generator = np.random.default_rng([self.seed, batch])
        drawn = generator.poisson(1.0, size=(len(self.sums), len(sums))).astype(np.float64)
        self._add(drawn, sums, counts)

    def _add(self, drawn: Array, sums: Array, counts: Array) -> None:
        self.sums += drawn @ sums
        self.counts += drawn @ counts
        self.whole += np.stack([sums.sum(0), counts.sum(0), (counts > 0).sum(0)])

    def merge(self, other: Replicates) -> None:
        self.sums += other.sums
        self.counts += other.counts
        self.whole += other.whole

    def arrays(self) -> dict[str, Array]:
        return {"sums": self.sums, "counts": self.counts, "whole": self.whole}

    def restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self.sums, self.counts, self.whole = (
            arrays[name].astype(np.float64) for name in ("sums", "counts", "whole")
        )

    @property
    def units(self) -> Array:
        """width: how many units have a value."""
        return self.whole[2]

    def interval(self, level: float = 0.95, share: bool = False) -> Array:
        """2 × width: the ends of an interval; NaN if fewer than `FEWEST` units have a value.

        `share`: each value is a number of hits among its count.
        """
        sums, counts, units = self.whole
        with np.errstate(invalid="ignore", divide="ignore"):
            value, means = sums / counts, self.sums / self.counts
        found = np.full((2, len(value)), np.nan)
        there = np.flatnonzero(units >= FEWEST)
        if not len(there):
            return found
        n, value = units[there], value[there]
        square = np.nanvar(means[:, there], axis=0) * n / (n - 1)
        reach = _reach(n, level)
        if share:
            found[:, there] = _wilson(value, square, n, counts[there], reach)
        else:
            found[:, there] = value + np.array([[-1], [1]]) * reach * np.sqrt(square)
        return found


def _reach(units: Any, level: float) -> Any:
    """The half-width of a t-interval in standard errors."""
    from scipy.special import stdtrit

    return stdtrit(units - 1, (1 + level) / 2)


def mean_interval(values: Array, level: float = 0.95) -> tuple[Array, Array]:
    """t-intervals of means over the last axis; NaN with fewer than `FEWEST` values."""
    n, mean = values.shape[-1], values.mean(-1)
    if n < FEWEST:
        return np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    reach = _reach(n, level) * values.std(-1, ddof=1) / np.sqrt(n)
    return mean - reach, mean + reach


def share_interval(
    value: float, square: float, units: int, fewest: int, level: float = 0.95
) -> tuple[float, float]:
    """Wilson's interval of a share (or an AUROC) with a squared error over units; NaN below
    `FEWEST`.

    `fewest` is the number of units to assume if all agree and the error is 0.
    """
    if units < FEWEST:
        return np.nan, np.nan
    given = [value, square * units / (units - 1), fewest, units, _reach(units, level)]
    share, error, least, most, reach = np.array(given, np.float64)[:, None]
    low, high = _wilson(share, error, least, most, reach)[:, 0]
    return float(low), float(high)


def rank_interval(correlation: float, units: int, level: float = 0.95) -> tuple[float, float]:
    """Of a rank correlation over units (Bonett and Wright 2000), NaN below `FEWEST`."""
    if units < FEWEST or not np.isfinite(correlation):
        return np.nan, np.nan
    reach = _reach(units - 1, level) * np.sqrt((1 + correlation**2 / 2) / (units - 3))
    most = 1 - units**-2.0  # complete agreement of few units is not certainty
    centre = np.arctanh(np.clip(correlation, -most, most))
    low, high = np.tanh(centre - reach), np.tanh(centre + reach)
    return float(min(low, correlation)), float(max(high, correlation))


def _wilson(value: Array, square: Array, units: Array, cases: Array, reach: Array) -> Array:
    """2 × width: for the number of independent cases that gives this squared error.

    If all are right or all wrong the error is 0; then a unit counts as one case.
    """
    spread = value * (1 - value)
    same = (spread <= 0) | (square <= 0)
    asked = np.where(same, units, np.minimum(spread / np.where(same, 1.0, square), cases))
    scale = 1 + reach**2 / asked
    centre = (value + reach**2 / (2 * asked)) / scale
    half = reach / scale * np.sqrt(spread / asked + reach**2 / (4 * asked**2))
    return np.stack([centre - half, centre + half]).clip(0.0, 1.0)
