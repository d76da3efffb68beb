"""A pattern: a named behaviour of a head, with a score for every document.

Each score comes with two yardsticks. `uniform` is the score of a head that attends uniformly to all
it sees. `null` is this head's score with each query's weights permuted at random among the keys the
pattern chooses from (the pool); its mean and variance over all such permutations have closed forms,
so nothing is simulated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor

from headscope.errors import BadInput
from headscope.measures import every
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Source


class Scores(NamedTuple):
    """Per document and head (b H), nan where the pattern is not defined."""

    score: Tensor
    uniform: Tensor
    null: Tensor  # mean over permutations of the keys
    variance: Tensor  # variance over permutations of the keys


@dataclass(frozen=True)
class Pattern(ABC):
    """The base of every pattern. Kinds of pattern differ in how rows of weights become a score."""

    name: str
    label: str
    about: str
    least_score: float  # for a label
    least_lift: float = 2.0  # ratio to uniform attention, for a label
    source: Source = "corpus"
    causal: bool | None = None  # only for causal maps, only for the others, or for both
    rests: bool = False  # such a head attends to a sink
    paper: str = "Vig 2019"
    standard: bool = False  # measured by a survey without named statistics

    unit: ClassVar[str] = "share"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    formula: ClassVar[str] = ""

    @property
    def needs_likeness(self) -> bool:
        """Whether the model's embeddings are needed but missing."""
        return False

    def applies(self, causal: bool) -> bool:
        return self.causal is None or self.causal == causal

    @abstractmethod
    def features(self) -> tuple[Feature, ...]:
        """The row features that the scores need."""

    def score_features(self) -> tuple[Feature, ...]:
        """The row features for the score alone, without its null."""
        return self.features()

    @abstractmethod
    def row_scores(self, rows: Rows, grid: Grid) -> Tensor:
        """b H t: the score of every query; NaN without a target or an alternative."""

    @abstractmethod
    def scores(self, rows: Rows, grid: Grid) -> Scores:
        """Scores of every document and head."""


def patterns() -> dict[str, Pattern]:
    """Every pattern by name."""
    found: dict[str, Pattern] = {}
    for name, measure in every().items():
        by = measure.computed_by
        pattern = by if isinstance(by, Pattern) else getattr(by, "pattern", None)
        if isinstance(pattern, Pattern) and name == pattern.name:
            found[name] = pattern
    return found


def pattern_named(name: str) -> Pattern:
    """The pattern of that name."""
    known = patterns()
    if name not in known:
        raise BadInput(f"There is no pattern {name!r}; the patterns are {', '.join(known)}.")
    return known[name]
