"""Patterns over a corpus: every head's score on every pattern, and its labels."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.corpus.bad_data import Choice
from headscope.corpus.text.documents import Layout
from headscope.corpus.text.segments import Segmentation
from headscope.patterns.labels import in_order
from headscope.patterns.over_corpus import pattern_scores
from headscope.results import HeadResult, tidy

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope
    from headscope.runs import ProgressCallback


@dataclass(frozen=True, eq=False, repr=False)
class Patterns(HeadResult):
    """Scores with their evidence (`scores`), and the labels that hold (`labels`)."""

    scores: pd.DataFrame  # kind, layer, head, pattern, score, uniform, lift, null, error, p, …
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])

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
        """The heads' labels, each head's strongest first."""
        return in_order(self.scores)


def patterns(
    scope: Scope,
    corpus: Any = None,
    *,
    segments: Segmentation | None = None,
    predictive: int = 0,
    max_tokens: int | None = None,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    field: str = "text",
    layout: Layout = "auto",
    bad_data: Choice = "skip",
    seed: int = 0,
) -> Patterns:
    """Score every head of a scope on every pattern over a corpus.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    corpus
        What `hs.survey` takes. Without one only induction and duplicate tokens are scored, on
        repeated random tokens.
    segments
        "pairs" or "documents"; by default what suits the model.
    predictive
        In how many texts masked words are also predicted.
    max_tokens
        The most tokens of a text.
    limit
        Only the first texts.
    output
        A .csv or .parquet file for the table of evidence; a stopped run resumes.
    restart
        Whether to start over instead of resuming.
    progress
        Whether to show progress, or a function that is called with it.
    field, layout, bad_data, seed
        How the corpus is read, as for `hs.survey`.

    Returns
    -------
    Patterns
        Every head's score on every pattern, and the labels that hold.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The cat sat on the mat because the cat was tired."] * 2
    >>> found = hs.patterns(hs.load(), texts, segments="windows", progress=False)
    >>> "value" in found.table
    True
    """
    found = pattern_scores(
        scope, corpus, cut=segments, predictive=predictive, max_tokens=max_tokens, limit=limit,
        output=output, restart=restart, progress=progress, field=field,
        layout=layout, bad_data=bad_data, seed=seed,
    )  # fmt: skip
    about = {"model": scope.name, **{str(name): one for name, one in found.attrs.items()}}
    return Patterns(found.reset_index(drop=True), about)
