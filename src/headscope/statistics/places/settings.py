"""What is kept of places, and what of a row of weights they are judged by."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

from headscope.statistics.features.feature import Feature, RowFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.places.horizon import Horizon
from headscope.statistics.statistic import Statistic

STRONGEST = "strongest_key"


@dataclass(frozen=True)
class PlaceSettings:
    """Two runs with equal settings and corpus keep equal places."""

    statistics: tuple[Statistic, ...]  # those whose rows are judged
    top: int = 20  # strongest places of every head and measure
    per_decile: int = 2  # places shown of every decile of a measure
    sample: int = 1024  # places drawn from the whole corpus, looked at for every head
    per_document: int = 2  # of the strongest, so that no document fills the list
    keys: int = 8  # heaviest keys kept of a place
    pairs: int = 4096  # pairs of tokens counted for a head; the rarest go first
    compared: float = 0.125  # share of all queries by which heads are compared with each other
    seed: int = 0
    text: bool = True  # False: no token of the corpus is kept, neither of a run that is stopped
    horizon: Horizon = field(default_factory=Horizon, compare=False)  # what came before

    @property
    def described(self) -> dict[str, Any]:
        """What of the settings decides the result, for the identity of a run."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.compare}
        del own["statistics"]
        if self.text:  # files that hold text say so elsewhere
            del own["text"]
        return {**own, "measures": list(self.names)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(statistic.name for statistic in self.statistics)


def _strongest(weights: Tensor, grid: Grid, queries: slice) -> Tensor:
    if weights.is_cuda:
        return weights.argmax(-1).to(weights.dtype)
    # of equal weights both take the first; numpy looks at many at once
    return torch.from_numpy(weights.detach().numpy().argmax(-1)).to(weights.dtype)


STRONGEST_KEY = RowFeature(STRONGEST, _strongest)


def place_features(settings: PlaceSettings) -> list[str | Feature]:
    """What rows must hold beside what the statistics ask for."""
    own = [feature for statistic in settings.statistics for feature in statistic.features()]
    return [*own, "largest", "entropy", STRONGEST_KEY]
