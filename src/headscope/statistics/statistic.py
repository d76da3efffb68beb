"""A statistic: a number per head and document, averaged over the documents of a corpus."""

from __future__ import annotations

import inspect
from abc import ABC
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.measures import Measure
from headscope.statistics.accumulator import Accumulator, Moments
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows

if TYPE_CHECKING:
    from headscope.reading import Scope

Source = Literal["corpus", "gradient", "repeats"]


class Statistic(ABC):
    """One number per head; the first paragraph of the subclass's docstring says what it is.

    Most statistics are the mean of one feature over some of a document's queries, and need no code,
    only `feature` and `queries`. Others override `measure`.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""  # for display; by default the name with blanks
    formula: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    needs: ClassVar[str] = ""  # further requirements on a model or text
    of_one_text: ClassVar[bool] = True  # shown for a single reading, too
    unit: ClassVar[str]  # "share", "nats", "tokens", …
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)  # limits of every document's value
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder", "decoder")  # cross maps have different axes
    source: ClassVar[Source] = "corpus"
    """What the features are taken of: the weights on the corpus, the size of the loss's gradient
    with respect to them, or the weights on repeated random tokens."""
    standard: ClassVar[bool] = True  # measured by default
    feature: ClassVar[str | Feature | None] = None
    queries: ClassVar[str] = "all"
    reads_text: ClassVar[bool] = False  # `measure` uses `grid.tokens`
    both_directions: ClassVar[bool] = False  # undefined for causal attention

    def described(self) -> Measure:
        """The statistic's entry in the registry of measures."""
        low, high = self.bounds
        text = inspect.getdoc(type(self)) or ""
        return Measure(
            name=self.name,
            title=self.title or self.name.replace("_", " "),
            sentence=" ".join(text.split("\n\n")[0].split()),
            unit=self.unit,
            low=low,
            high=high,
            formula=self.formula,
            paper=self.paper,
            origin="statistic",
            needs="; ".join(self._all_needs()),
            of_one_text=self.of_one_text and self.source == "corpus",
            standard=self.standard,
            computed_by=self,
        )

    def _all_needs(self) -> list[str]:
        needs = [self.needs] if self.needs else []
        if self.both_directions:
            needs.append("attention that looks both ways")
        if self.source == "gradient":
            needs.append("a model that guesses words, for the gradient of its loss")
        if self.source == "repeats":
            needs.append("a model that continues text, read on repeated random tokens")
        return needs

    def features(self) -> tuple[str | Feature, ...]:
        """The features that `measure` needs in the rows."""
        assert self.feature is not None, f"{type(self).__name__} names no feature"
        return (self.feature,)

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        """documents × heads [× further axes for the accumulator], NaN if undefined."""
        assert self.feature is not None
        name = self.feature if isinstance(self.feature, str) else self.feature.name
        return rows.mean(name, self.queries)

    def row_values(self, rows: Rows, grid: Grid) -> Tensor:
        """b H t: the value of every query, NaN if undefined."""
        assert self.feature is not None, f"{self.name} has no number for a single query"
        name = self.feature if isinstance(self.feature, str) else self.feature.name
        return rows[name].masked_fill(~grid.select(self.queries)[:, None], torch.nan)

    def applies(self, kind: Kind, causal: bool) -> bool:
        return kind in self.kinds and not (causal and self.both_directions)

    def unavailable(self, scope: Scope) -> str | None:
        """Why this scope cannot be measured, in one sentence; None if it can."""
        return None

    def accumulator(self, heads: int) -> Accumulator:
        """The accumulator of documents' values; by default mean and standard error."""
        return Moments(heads)


def undefined_unless(defined: Tensor, values: Tensor) -> Tensor:
    """The values (b H) of documents for which `defined` (b) holds, nan for the others."""
    return torch.where(defined[:, None], values, torch.nan)
