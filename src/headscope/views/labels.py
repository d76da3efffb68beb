"""Names of heads, however they were handed over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from headscope.errors import BadInput


@dataclass(frozen=True)
class Label:
    layer: int
    head: int
    text: str
    score: float
    kind: str = "encoder"

    def header(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "head": self.head,
            "text": self.text,
            "score": round(float(self.score), 4),
        }


Labels = Iterable[Any] | Mapping[tuple[int, int], tuple[str, float]]


def as_labels(labels: Labels | None, kind: str) -> tuple[Label, ...]:
    """From a mapping {(layer, head): (text, score)}, or things with these four attributes."""
    if labels is None:
        return ()
    if isinstance(labels, Mapping):
        pairs = cast("Mapping[tuple[int, int], tuple[str, float]]", labels).items()
        return tuple(Label(at[0], at[1], text, score, kind) for at, (text, score) in pairs)
    return tuple(_one(label, kind) for label in labels)


def _one(label: Any, kind: str) -> Label:
    if isinstance(label, Label):
        return label
    for name in ("text", "name", "pattern"):
        text = getattr(label, name, None)
        if isinstance(text, str):
            return Label(label.layer, label.head, text, label.score, getattr(label, "kind", kind))
    raise BadInput(
        "Labels are a mapping {(layer, head): (text, score)}, or objects with layer, head, text "
        "and score."
    )


def best(labels: Iterable[Label]) -> Label | None:
    return max(labels, key=lambda label: label.score, default=None)
