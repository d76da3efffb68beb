"""What is kept of places, and what of a row of weights they are judged by."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from headscope.statistics.features.feature import Feature, RowFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.statistic import Statistic

TENTHS = 10
STRONGEST = "strongest_key"


@dataclass(frozen=True)
class PlaceSettings:
    """Two runs with equal settings and corpus keep equal places."""

    statistics: tuple[Statistic, ...]  # those whose rows are judged
    top: int = 20  # strongest places of every head and measure
    per_tenth: int = 2  # places of every tenth of a measure's range
    per_document: int = 2  # of the strongest, so that no document fills the list
    keys: int = 8  # heaviest keys kept of a place
    pairs: int = 4096  # pairs of tokens counted for a head; the rarest go first
    seed: int = 0

    @property
    def described(self) -> dict[str, Any]:
        """What of the settings decides the result, for the identity of a run."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "statistics"}
        return {**own, "measures": list(self.names)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(statistic.name for statistic in self.statistics)


def _strongest(weights: Tensor, grid: Grid, queries: slice) -> Tensor:
    return weights.argmax(-1).to(weights.dtype)


STRONGEST_KEY = RowFeature(STRONGEST, _strongest)


def place_features(settings: PlaceSettings) -> list[str | Feature]:
    """What rows must hold beside what the statistics ask for."""
    own = [feature for statistic in settings.statistics for feature in statistic.features()]
    return [*own, "largest", "entropy", STRONGEST_KEY]


def tenth_of(values: Tensor, low: float, high: float) -> Tensor:
    """Which tenth of the range low … high a value lies in, 0 to 9."""
    scaled = (values - low) * (TENTHS / (high - low))
    return torch.nan_to_num(scaled, 0.0).long().clamp_(0, TENTHS - 1)
