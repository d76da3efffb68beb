"""Labels of heads, from any accepted form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from headscope.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Reading


@dataclass(frozen=True)
class Label:
    layer: int
    head: int
    text: str
    score: float
    kind: str = "encoder"
    evidence: str = ""
    """What it rests on: "12 of 13 queries of this text", or "over 400 texts"."""

    @property
    def rests(self) -> bool:
        """Whether the label is a sink's, which many heads have."""
        from headscope.patterns.pattern import patterns

        return any(pattern.rests and pattern.label == self.text for pattern in patterns().values())

    def header(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "head": self.head,
            "text": self.text,
            "score": round(self.score, 4),
            "evidence": self.evidence,
            "rests": self.rests,
        }


Labels = Iterable[Label] | Mapping[tuple[int, int], tuple[str, float]]


def as_labels(labels: Any, kind: str) -> tuple[Label, ...]:
    """One label per head, from labels, a mapping {(layer, head): (text, score)}, or the data frame
    of `hs.labels`."""
    if labels is None:
        return ()
    if hasattr(labels, "itertuples"):
        return _first(_row(row, kind) for row in labels.itertuples())
    if isinstance(labels, Mapping):
        pairs = cast("Mapping[tuple[int, int], tuple[str, float]]", labels).items()
        return tuple(Label(at[0], at[1], text, score, kind) for at, (text, score) in pairs)
    given = tuple(labels) if isinstance(labels, Iterable) else (labels,)
    if not all(isinstance(label, Label) for label in given):
        raise BadInput(
            "Labels are a mapping {(layer, head): (text, score)}, or the table of labels that "
            "headscope.patterns gives."
        )
    return given


def _row(row: Any, kind: str) -> Label:
    text = str(getattr(row, "label", None) or row.pattern)
    rest = float(getattr(row, "rest", math.nan))
    score = float(row.score) if math.isnan(rest) else rest
    at = int(row.layer), int(row.head)
    return Label(*at, text, score, getattr(row, "kind", kind), evidence(row))


def evidence(row: Any) -> str:
    """The evidence of a row's label, in words; empty if the table has none."""
    documents = getattr(row, "documents", None)
    if documents is not None and documents > 1:
        return f"over {int(documents):,} texts"
    queries = getattr(row, "queries", math.nan)
    if math.isnan(queries):
        return ""
    tested = "" if getattr(row, "all_queries", True) else "tested "  # of a long text, a stretch
    rest = "" if math.isnan(row.rest) else " with what its sink leaves"
    return f"{int(row.supporting)} of {int(queries)} {tested}queries of this text{rest}"


def _first(labels: Iterable[Label]) -> tuple[Label, ...]:
    """One label per head: tables list each head's strongest first."""
    kept: dict[tuple[str, int, int], Label] = {}
    for label in labels:
        kept.setdefault((label.kind, label.layer, label.head), label)
    return tuple(kept.values())


def best(labels: Iterable[Label]) -> Label | None:
    return max(labels, key=lambda label: label.score, default=None)


def labels_for(reading: Reading) -> pd.DataFrame | None:
    """Labels on this text, if the caller gave none; None if no part can be measured."""
    return shown_labels(scores_for(reading), corpus_labels(reading))


def shown_labels(scores: pd.DataFrame | None, corpus: pd.DataFrame | None) -> pd.DataFrame | None:
    """A row for each head that has a label on this text or over a corpus."""
    from headscope.patterns.labels import in_order, with_corpus

    return None if scores is None else with_corpus(in_order(scores), corpus)


def corpus_labels(reading: Reading) -> pd.DataFrame | None:
    """The labels of the model's heads over a corpus, which the bundled model has."""
    from headscope.models.open import NAME
    from headscope.patterns.bundled_labels import bundled_labels

    return bundled_labels() if reading.model == NAME else None


def scores_for(reading: Reading) -> pd.DataFrame | None:
    """Every head on every pattern, with or without a label; None if none could be measured."""
    from headscope.patterns.labels import quick_table, why_not_scored

    if all(why_not_scored(part) for part in reading.parts.values()):
        return None
    return quick_table(reading)
