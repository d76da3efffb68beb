"""The line under a picture: model and text, short enough for one line."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.reading import Part, Reading
from headscope.views.shared.labels import Label

LONGEST = 110  # characters of each text


def shortened(text: str, longest: int = LONGEST) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def caption(reading: Reading) -> str:
    read = dict.fromkeys(text for part in reading.parts.values() for text in _texts(part))
    texts = [f"“{shortened(text)}”" for text in read if text]
    return " · ".join([reading.model, *texts]) if reading.model else " · ".join(texts)


def _texts(part: Part) -> tuple[str, ...]:
    return (*part.key.texts, *part.query.texts)


def heading(
    kind: str, layer: int, heads: Sequence[int], of_heads: int, labels: Sequence[Label] = ()
) -> str:
    """A figure's heads, with the label of a single one."""
    named = "all heads" if len(heads) == of_heads > 1 else _numbered(heads)
    title = f"{kind.capitalize()} attention, layer {layer}, {named}"
    for label in labels:
        if len(heads) == 1 and (label.kind, label.layer, label.head) == (kind, layer, heads[0]):
            title += f": {label.text} {label.score:.2f}"
            title += f" ({label.evidence})" if label.evidence else ""
    return title


def _numbered(heads: Sequence[int]) -> str:
    if not heads:
        return "no head"
    return ("head " if len(heads) == 1 else "heads ") + ", ".join(map(str, heads))
