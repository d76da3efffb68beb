"""Names of heads, however they were handed over."""

from __future__ import annotations

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

    @property
    def rests(self) -> bool:
        """Whether the head looks where nothing is to be learnt: many do, and it says little."""
        from headscope.patterns.known import patterns

        return any(pattern.rests and pattern.label == self.text for pattern in patterns().values())

    def header(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "head": self.head,
            "text": self.text,
            "score": round(self.score, 4),
        }


Labels = Iterable[Label] | Mapping[tuple[int, int], tuple[str, float]]


def as_labels(labels: Any, kind: str) -> tuple[Label, ...]:
    """One label a head: from labels, a mapping {(layer, head): (text, score)}, or the data frame
    that `headscope.patterns` gives."""
    if labels is None:
        return ()
    if hasattr(labels, "itertuples"):
        return _strongest(_row(row, kind) for row in labels.itertuples())
    if isinstance(labels, Mapping):
        pairs = cast("Mapping[tuple[int, int], tuple[str, float]]", labels).items()
        return tuple(Label(at[0], at[1], text, score, kind) for at, (text, score) in pairs)
    given = tuple(labels)
    if not all(isinstance(label, Label) for label in given):
        raise BadInput(
            "Labels are a mapping {(layer, head): (text, score)}, or the table of labels that "
            "headscope.patterns gives."
        )
    return given


def _row(row: Any, kind: str) -> Label:
    text = str(getattr(row, "label", None) or row.pattern)
    return Label(int(row.layer), int(row.head), text, float(row.score), getattr(row, "kind", kind))


def _strongest(labels: Iterable[Label]) -> tuple[Label, ...]:
    kept: dict[tuple[str, int, int], Label] = {}
    for label in labels:
        at = (label.kind, label.layer, label.head)
        if at not in kept or label.score > kept[at].score:
            kept[at] = label
    return tuple(kept.values())


def best(labels: Iterable[Label]) -> Label | None:
    return max(labels, key=lambda label: label.score, default=None)


def labels_for(reading: Reading) -> pd.DataFrame | None:
    """Measured on this text, where the caller named none; None where no part can be measured."""
    from headscope.patterns.labels import in_order

    scores = scores_for(reading)
    return None if scores is None else in_order(scores)


def scores_for(reading: Reading) -> pd.DataFrame | None:
    """Every head on every pattern, labelled or not; None where none could be measured."""
    from headscope.patterns.labels import quick_table, why_not_scored

    if all(why_not_scored(part) for part in reading.parts.values()):
        return None
    return quick_table(reading)
