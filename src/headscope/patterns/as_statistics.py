"""Patterns as statistics, so that a survey measures them and keeps what labels need.

Each pattern gives five statistics: `next_word` is the score, and `next_word:uniform`,
`next_word:null`, `next_word:excess` (score minus null, document by document) and
`next_word:variance` (of the score over permutations of the keys) are its yardsticks. All are
plain means over documents, so surveys merge, resume and reopen without knowing of patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from torch import Tensor

from headscope.capture import Kind
from headscope.measures import Measure
from headscope.patterns.pattern import Pattern, pattern_named, patterns
from headscope.patterns.rank_correlation import RankPattern
from headscope.statistics.discovery import why_not
from headscope.statistics.features.feature import Feature, PairFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic

if TYPE_CHECKING:
    from headscope.reading import Scope

YARDSTICKS = {
    "score": "",
    "uniform": ", if its attention were uniform",
    "null": ", if its weights were dealt out again",
    "excess": ", beyond what dealing its weights out again gives",
    "variance": ": the variance over such deals",
}
PARTS = tuple(YARDSTICKS)


class PatternMeasure(Statistic):
    """One part of one pattern, made by `of_pattern`."""

    unit: ClassVar[str] = "share"
    pattern: ClassVar[Pattern]
    part: ClassVar[str]

    def described(self) -> Measure:
        pattern = self.pattern
        return replace(
            super().described(),
            title=pattern.label if self.part == "score" else f"{pattern.label}: {self.part}",
            formula=pattern.formula if self.part == "score" else "",
            paper=pattern.paper,
            origin="pattern",
            of_one_text=not pattern.needs_likeness,
            yardstick_of=None if self.part == "score" else pattern.name,
            computed_by=pattern if pattern.needs_likeness else self,
        )

    def features(self) -> tuple[str | Feature, ...]:
        """Squared weights are needed only for the variance over permutations."""
        if self.part in ("score", "uniform"):
            return self.pattern.score_features()
        needed = self.pattern.features()
        if self.part == "variance":
            return needed
        return tuple(f for f in needed if not (isinstance(f, PairFeature) and f.squared))

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        name = (self.pattern.name, "scores")  # five parts need the same scores
        found = rows.once(name, lambda: self.pattern.scores(rows, grid))
        return found.score - found.null if self.part == "excess" else getattr(found, self.part)

    def row_values(self, rows: Rows, grid: Grid) -> Tensor:
        return self.pattern.row_scores(rows, grid)

    def applies(self, kind: Kind, causal: bool) -> bool:
        return kind in self.kinds and self.pattern.applies(causal)

    def __reduce__(self) -> tuple[object, ...]:
        """Another process creates the class again, because it is in no module."""
        return part_of_pattern, (self.pattern, self.part)


def of_pattern(pattern: Pattern) -> list[type[PatternMeasure]]:
    """The five statistics of a pattern."""
    made: list[type[PatternMeasure]] = []
    for part in PARTS:
        content = {
            "__doc__": f"How much a head {pattern.about}{YARDSTICKS[part]}.",
            "__module__": __name__,
            "name": pattern.name if part == "score" else f"{pattern.name}:{part}",
            "unit": pattern.unit,
            "standard": pattern.standard and part == "score",
            "bounds": (-1.0, 1.0) if part == "excess" else pattern.bounds,
            "source": pattern.source,
            "pattern": pattern,
            "part": part,
        }
        title = f"{pattern.name.title().replace('_', '')}{part.title()}"
        made.append(type(title, (PatternMeasure,), content))
    return made


def part_of_pattern(pattern: Pattern, part: str) -> PatternMeasure:
    """One of the five statistics of a pattern."""
    return of_pattern(pattern)[PARTS.index(part)]()


def pattern_measures(scope: Scope, names: Iterable[str] | None = None) -> list[Statistic]:
    """The statistics that a survey measures so that its heads can be labelled.

    Patterns of likeness need the model's word embeddings; without these they are left out.

    Parameters
    ----------
    scope
        The model; patterns that it cannot show are left out.
    names
        The patterns to measure; by default all.

    Returns
    -------
    list of Statistic
        Five for each pattern: its score and its yardsticks.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load()
    >>> texts = ["The cat sat on the mat.", "She sells sea shells."]
    >>> survey = hs.survey(scope, texts, hs.pattern_measures(scope, ["next_word"]), progress=False)
    >>> survey.statistics[0]
    'next_word'
    """
    from headscope.patterns.likeness import likeness_of

    wanted = [pattern_named(name) for name in names] if names is not None else patterns().values()
    likeness = likeness_of(scope)
    made: list[Statistic] = []
    for pattern in wanted:
        if isinstance(pattern, RankPattern):
            if likeness is None or pattern.follows != "embeddings":
                continue
            pattern = pattern.comparing(likeness)
        made += [measure() for measure in of_pattern(pattern)]
    return [measure for measure in made if _can_be_measured(measure, scope)]


def with_patterns(chosen: Sequence[Statistic], patterns: Sequence[Statistic]) -> list[Statistic]:
    """Each statistic once; a pattern requested by name is replaced by this model's."""
    names = {pattern.name for pattern in patterns}
    return [*(s for s in chosen if s.name not in names), *patterns]


def _can_be_measured(measure: Statistic, scope: Scope) -> bool:
    applies = any(measure.applies(kind, kind == "decoder") for kind in scope.kinds)
    return applies and why_not(scope, measure) is None
