"""What is known of one head on one text, in the order a reader asks: what it does, what it looks at
most, its numbers, and why."""

from __future__ import annotations

import math
from typing import Any

from headscope.capture import Kind
from headscope.measures import Measure, every
from headscope.patterns.labels import why_not_scored
from headscope.surfaces.app.heads.looks import strongest_pairs
from headscope.surfaces.app.heads.patterns import of_head
from headscope.surfaces.app.heads.reasons import over_corpus, why
from headscope.surfaces.app.readings import KeptReading
from headscope.views.numbers.summary import summary
from headscope.views.state import check_heads

NOTHING = "No pattern stands out on this text, so there is nothing to explain."
FIRST = ("entropy", "confidence", "distance", "first", "special_tokens", "previous", "next", "self")


def head_facts(kept: KeptReading, kind: Kind, layer: int, head: int) -> dict[str, Any]:
    part = kept.reading.part(kind)
    one = part.layer(layer)
    check_heads(part.heads, head)
    patterns = of_head(kept.scores, kind, layer, head)
    best = patterns[0] if patterns and patterns[0]["labelled"] else None
    unmeasured = why_not_scored(part)
    if unmeasured or best is None:
        reason, why_not = None, unmeasured or NOTHING
    else:
        reason, why_not = why(kept, kind, layer, head)
    numbers = summary(part)
    at = part.numbers.index(one.layer)
    return {
        "label": best["name"] if best else None,
        "score": best["score"] if best else None,
        "about": f"It {best['about']}." if best else None,
        "patterns": patterns,
        "why_no_patterns": unmeasured,
        "corpus": over_corpus(kept, kind, layer, head),
        **strongest_pairs(part, layer, head),
        "statistics": [
            _fact(measure, float(numbers[measure.name][at, head]))
            for measure in _in_order(every().values())
            if measure.name in numbers and math.isfinite(numbers[measure.name][at, head])
        ],
        "why": reason,
        "why_not": why_not,
    }


def _in_order(measures: Any) -> list[Measure]:
    """Statistics, those asked for most first; patterns have a place of their own."""
    known = [measure for measure in measures if measure.origin == "statistic"]
    return sorted(known, key=lambda m: FIRST.index(m.name) if m.name in FIRST else len(FIRST))


def _fact(measure: Measure, value: float) -> dict[str, Any]:
    return {
        "name": measure.title,
        "value": value,
        "unit": "" if measure.unit == "share" else measure.unit,
        "note": measure.sentence,
    }
