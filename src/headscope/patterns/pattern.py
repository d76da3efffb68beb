"""A pattern: a named behaviour of a head, with a score for every document.

Each score comes with two yardsticks. `uniform` is what a head that attends evenly to all it
sees would score. `null` is what this very head would score if its weights were dealt out again
at random among the keys the pattern chooses from (the pool), each query for itself; its mean
and variance over all such permutations have closed forms, so nothing is simulated.
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
    """What every pattern has. Kinds of pattern differ in how rows of weights become a score."""

    name: str
    label: str
    about: str
    least_score: float  # that earns the label
    least_lift: float = 2.0  # ratio to uniform attention that earns the label
    source: Source = "corpus"
    causal: bool | None = None  # only for causal maps, only for the others, or for both
    rests: bool = False  # a head that does this looks where nothing is to be learnt
    paper: str = "Vig 2019"
    standard: bool = False  # its score is measured by a survey that names no statistics

    unit: ClassVar[str] = "share"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    formula: ClassVar[str] = ""

    @property
    def needs_likeness(self) -> bool:
        """Whether the model's embeddings are needed, and have not been given."""
        return False

    def applies(self, causal: bool) -> bool:
        return self.causal is None or self.causal == causal

    @abstractmethod
    def features(self) -> tuple[Feature, ...]:
        """What the rows must hold."""

    def score_features(self) -> tuple[Feature, ...]:
        """What the rows must hold for the score alone, without its null."""
        return self.features()

    @abstractmethod
    def row_scores(self, rows: Rows, grid: Grid) -> Tensor:
        """b H t: the score of every single query, nan where it has no target or no choice."""

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
