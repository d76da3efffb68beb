"""How far a head attends, and whether position alone decides where."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.statistics.accumulator import Accumulator, Array
from headscope.statistics.features.feature import Feature, RowFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.significance import FEWEST
from headscope.statistics.statistic import Statistic

MOST = 256  # documents in the sample


class MapSample:
    """The maps of the documents with the lowest hashes, the same in any order and split."""

    def __init__(self, heads: int, size: int) -> None:
        self.documents = np.zeros(0, dtype=np.int64)
        self.maps = np.zeros((0, heads, size), dtype=np.float32)

    def add(self, documents: NDArray[np.int64], values: Array) -> None:
        defined = ~np.isnan(values).any(axis=(1, 2))
        self._keep(documents[defined], values[defined].astype(np.float32))

    def merge(self, other: Accumulator) -> None:
        assert isinstance(other, MapSample)
        self._keep(other.documents, other.maps)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {"documents": self.documents, "maps": self.maps}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        self.documents = arrays["documents"].astype(np.int64)
        self.maps = arrays["maps"].astype(np.float32)

    def result(self) -> tuple[Array, Array, NDArray[np.int64]]:
        heads, kept = self.maps.shape[1], len(self.documents)
        if kept == 0:
            return np.full(heads, np.nan), np.full(heads, np.nan), np.zeros(heads, np.int64)
        maps = self.maps.astype(np.float64)
        moved = np.abs(maps - maps.mean(axis=0)).sum(axis=2)  # documents heads
        whole = 2 * maps.sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = moved.sum(axis=0) / whole.sum(axis=0)
            # the standard error of a ratio of means, to first order
            residual = moved - value * whole
            error = np.sqrt((residual**2).sum(axis=0) / (kept - 1) / kept) / whole.mean(axis=0)
        error = np.where(kept >= FEWEST, error, np.nan)
        return value, error, np.full(heads, kept, dtype=np.int64)

    def _keep(self, documents: NDArray[np.int64], maps: NDArray[np.float32]) -> None:
        every = np.concatenate([self.documents, documents])
        maps = np.concatenate([self.maps, maps])
        order = np.lexsort((every, _hash(every)))[:MOST]
        self.documents, self.maps = every[order], maps[order]


def _hash(documents: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A fixed scramble of document numbers (the finaliser of SplitMix64)."""
    mixed = documents.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


TOKENS = 10  # the paper's N: positions compared across texts


def _corner(weights: Tensor, grid: Grid, queries: slice) -> Tensor:
    corner = weights[..., :TOKENS]
    return torch.nn.functional.pad(corner, (0, TOKENS - corner.shape[-1]))


class Variability(Statistic):
    """How much a head's map depends on what the text says, not only on positions.

    Over the first 10 tokens, attention to the first token left out. 0 for a head that depends on
    position alone. The mean map ᾱ must be known before the deviations, so the value is that of a
    seeded sample of at most 256 documents, which is every document of a smaller corpus.
    """

    name = "variability"
    title = "variability by text"
    formula = "Σ_x Σ_ij |α_ij(x) − ᾱ_ij| / (2 Σ_x Σ_ij α_ij(x)) over texts x"
    paper = "Vig & Belinkov 2019, section 5.4"
    of_one_text = False
    needs = "texts of ten tokens or more"
    unit = "share"
    standard = False
    feature = RowFeature("corner", _corner, width=TOKENS, limit=TOKENS)

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        maps = rows["corner"][:, :, 1:, 1:].double()  # b H t' width
        long_enough = grid.query.lengths >= TOKENS
        full = maps.new_full((maps.shape[0], maps.shape[1], (TOKENS - 1) ** 2), torch.nan)
        if maps.shape[2] == TOKENS - 1:
            full[long_enough] = maps.flatten(2)[long_enough]
        return full

    def accumulator(self, heads: int) -> Accumulator:
        return MapSample(heads, (TOKENS - 1) ** 2)


class RepeatPrevious(Statistic):
    """On repeated random tokens, attention to the token before the query.

    The previous-token heads that induction heads rest on. On random tokens position alone can lead
    there. Mean over the queries of the second and later copies of 25 random tokens, 4 times over,
    after a begin-of-text token.
    """

    name = "repeat_previous"
    title = "previous token, repeated tokens"
    formula = "mean over queries with a copy of α_(i,i−1)"
    paper = "Olsson et al. 2022"
    unit = "share"
    kinds = ("decoder",)
    source = "repeats"
    standard = False
    feature = "previous"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return rows.mean("previous", queries=_has_copy(grid))


def _has_copy(grid: Grid) -> Tensor:
    """b t bool: queries whose token stood there one period before."""
    assert grid.period is not None
    position = torch.arange(grid.query.ids.shape[1], device=grid.query.ids.device)
    return (position > grid.period)[None].expand_as(grid.query.ids)


class Distance(Statistic):
    """Tokens between query and key, on average.

    They study decoders, where |i − j| = i − j.
    """

    name = "distance"
    title = "distance"
    formula = "mean_i Σ_j α_ij |i − j|"
    paper = "Vig & Belinkov 2019, section 5.5"
    unit = "tokens"
    bounds = (0.0, float("inf"))
    feature = "distance"


class DistanceSpread(Statistic):
    """Standard deviation of the distance |i − j| within a row, mean over all queries.

    0 for a head that always looks equally far, large for one that looks near and far at once.
    """

    name = "distance_spread"
    title = "spread of the distance"
    formula = "mean_i √(Σ_j α_ij |i − j|² − (Σ_j α_ij |i − j|)²)"
    paper = "beside Vig & Belinkov 2019, section 5.5"
    of_one_text = False
    standard = False  # needs a second sum per pair, which is slow on a GPU
    unit = "tokens"
    bounds = (0.0, float("inf"))

    def features(self) -> tuple[str | Feature, ...]:
        return ("distance", "distance_squared")

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        # rounding may make a constant row slightly negative
        spread = (rows["distance_squared"] - rows["distance"].square()).clamp_min(0).sqrt()
        return rows.mean_of(spread)
