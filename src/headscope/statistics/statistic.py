"""A statistic: a number per head and document, averaged over the documents of a corpus."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.survey.accumulator import Accumulator, Moments

if TYPE_CHECKING:
    from headscope.reading import Scope

Source = Literal["corpus", "gradient", "repeats"]


class Statistic(ABC):
    """One number per head; the subclass's docstring is its definition and names its paper.

    Most statistics are the mean of one feature over some of a document's queries, and need no
    code: `feature` and `queries` say it. Others override `measure`.
    """

    name: ClassVar[str]
    unit: ClassVar[str]  # "share", "nats", "tokens", …
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)  # no document's value lies outside
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder", "decoder")  # cross maps have unlike axes
    source: ClassVar[Source] = "corpus"
    """What the features are taken of: the weights on the corpus, the size of the loss's gradient
    with respect to them, or the weights on repeated random tokens."""
    standard: ClassVar[bool] = True  # measured when the user names no statistics
    feature: ClassVar[str | Feature | None] = None
    queries: ClassVar[str] = "all"
    both_directions: ClassVar[bool] = False  # undefined where a query cannot see what follows it

    def features(self) -> tuple[str | Feature, ...]:
        """What `measure` will look up in the rows."""
        assert self.feature is not None, f"{type(self).__name__} names no feature"
        return (self.feature,)

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        """documents × heads [× anything the accumulator knows], nan where it is undefined."""
        assert self.feature is not None
        name = self.feature if isinstance(self.feature, str) else self.feature.name
        return rows.mean(name, self.queries)

    def applies(self, kind: Kind, causal: bool) -> bool:
        return kind in self.kinds and not (causal and self.both_directions)

    def unavailable(self, scope: Scope) -> str | None:
        """Why this scope cannot be measured so, in one sentence; None when it can."""
        return None

    def accumulator(self, heads: int) -> Accumulator:
        """Where the documents' values go; mean and standard error unless a subclass says other."""
        return Moments(heads)


def undefined_unless(defined: Tensor, values: Tensor) -> Tensor:
    """The values (b H) of documents for which `defined` (b) holds, nan for the others."""
    return torch.where(defined[:, None], values, torch.nan)
