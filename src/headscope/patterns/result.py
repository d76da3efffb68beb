"""Patterns found over a corpus: every head's score on every pattern, and what it may be called."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.patterns.labels import in_order
from headscope.patterns.over_corpus import pattern_scores
from headscope.results import HeadResult, tidy

if TYPE_CHECKING:
    import pandas as pd

    from headscope.corpus.text.segments import Segmentation
    from headscope.reading import Scope
    from headscope.runs import ProgressCallback


@dataclass(frozen=True, eq=False, repr=False)
class Patterns(HeadResult):
    """Scores with their evidence (`scores`), and the labels that hold (`labels`)."""

    scores: pd.DataFrame  # kind, layer, head, pattern, score, uniform, lift, null, error, p, …
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def title(self) -> str:
        return f"Patterns of {self.metadata.get('model', 'a model')}"

    @property
    def table(self) -> pd.DataFrame:
        """Tidy: the measure is the pattern, the value its score, the count its documents."""
        names = {"pattern": "measure", "score": "value", "documents": "count"}
        return tidy(self.scores.rename(columns=names))

    @property
    def labels(self) -> pd.DataFrame:
        """What heads may be called, each head's strongest label first."""
        return in_order(self.scores)


def patterns(
    scope: Scope,
    corpus: Any,
    *,
    segments: Segmentation | None = None,
    predictive: int = 0,
    max_tokens: int | None = None,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    **reading: Any,
) -> Patterns:
    """Score every head of a scope on every pattern over a corpus.

    `corpus` is what `hs.survey` takes. `segments` is "pairs" or "documents" (what suits the model
    when left out); `predictive` is in how many texts masked words are also guessed; `reading` says
    how the corpus is read (field, layout, bad_data, seed). With an `output` (.csv or .parquet) the
    table of evidence is written there, and a run that is stopped goes on.
    """
    found = pattern_scores(
        scope, corpus, cut=segments, predictive=predictive, max_tokens=max_tokens, limit=limit,
        output=output, restart=restart, progress=progress, **reading,
    )  # fmt: skip
    about = {"model": scope.name, **{str(name): one for name, one in found.attrs.items()}}
    return Patterns(found.reset_index(drop=True), about)
