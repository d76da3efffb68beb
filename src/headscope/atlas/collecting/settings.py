"""How many examples an atlas keeps, and which row features they are judged by."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.statistics.features.feature import Feature, RowFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.statistic import Statistic

STRONGEST = "strongest_key"


@dataclass(frozen=True)
class ExampleSettings:
    """Two runs with equal settings and corpus keep equal examples."""

    statistics: tuple[Statistic, ...]  # those with a value for every query
    top: int = 20  # strongest examples of every head and measure
    per_decile: int = 2  # examples shown of every decile of a measure
    sample: int = 1024  # positions drawn from the whole corpus, the same for every head
    per_document: int = 2  # strongest examples from one document, so that none fills the list
    keys: int = 8  # heaviest keys kept of an example
    pairs: int = 4096  # pairs of tokens kept per head; the rarest are dropped
    compared: float = 0.125  # share of all queries by which heads are compared with each other
    seed: int = 0
    text: bool = True  # False: no token of the corpus is kept, not even in a checkpoint

    @property
    def described(self) -> dict[str, Any]:
        """The settings that decide the result, for the identity of a run and the file."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        del own["statistics"]
        if self.text:  # files that hold text have an entry of their own
            del own["text"]
        return {**own, "measures": [statistic.name for statistic in self.statistics]}

    def applying(self, kind: Kind) -> list[Statistic]:
        """The statistics that apply to one kind of attention."""
        return [s for s in self.statistics if s.applies(kind, kind == "decoder")]

    def features(self, kind: Kind) -> list[str | Feature]:
        """The row features that examples and counts need."""
        own = [feature for s in self.applying(kind) for feature in s.features()]
        return [*own, "largest", "entropy", STRONGEST_KEY]


def _strongest(weights: Tensor, grid: Grid, queries: slice) -> Tensor:
    if weights.is_cuda:
        return weights.argmax(-1).to(weights.dtype)
    # numpy's argmax is several times faster than torch's; of equal weights both take the first
    return torch.from_numpy(weights.detach().numpy().argmax(-1)).to(weights.dtype)


STRONGEST_KEY = RowFeature(STRONGEST, _strongest)
