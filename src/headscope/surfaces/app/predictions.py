"""What the page shows of one input: the model's predictions, and the heads that matter to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headscope.edits.live import Asked, Effect, effect, important_heads
from headscope.reading import Scope
from headscope.surfaces.app.kept import KeptReading
from headscope.surfaces.app.request import OffHead

COUNT = 5
IMPORTANT = 12  # heads listed
_LEANS: dict[Asked, str] = {
    "masked words": "the likeliest word at the mask leans",
    "next token": "the likeliest word next leans",
    "classes": "the likeliest class leans",
    "next sentence": "saying whether the second sentence follows the first leans",
    "nothing": "the model's output as a whole leans",
}


def predictions(scope: Scope, off: Sequence[OffHead], kept: KeptReading) -> dict[str, Any]:
    """Before and after, wherever the model speaks; a note where it predicts no word.

    The text is cut as its reading was: a text that was too long was only read to be cut.
    """
    found = effect(scope, kept.text, kept.text_pair, off, n=COUNT, truncate=True)
    said = zip(_titles(found), found.before, found.after, strict=True)
    return {
        "places": [
            {
                "title": title,
                "position": position,
                "before": [one._asdict() for one in before],
                "after": [one._asdict() for one in after],
            }
            for (title, position), before, after in said
        ],
        "note": found.note,
    }


def _titles(found: Effect) -> list[tuple[str, int | None]]:
    if found.asked == "masked words":
        return [(f"token {position}", position) for position in found.positions]
    return [(found.asked, position) for position in found.positions or (None,) * len(found.before)]


def importance(scope: Scope, kept: KeptReading) -> dict[str, Any]:
    """The heads this input's answer leans on most, and what the answer is."""
    found = important_heads(scope, kept.text, kept.text_pair, truncate=True)
    return {
        "heads": [
            {"kind": w.kind, "layer": w.layer, "head": w.head, "importance": w.importance}
            for w in found.heads[:IMPORTANT]
        ],
        "note": f"How strongly {_LEANS[found.asked]} on the head, to first order.",
    }
