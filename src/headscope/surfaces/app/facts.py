"""What is known of one head on one text: its label, its numbers, and why it does what it does."""

from __future__ import annotations

import math
from typing import Any

from headscope.capture import Kind
from headscope.errors import HeadscopeError
from headscope.measures import Measure, every
from headscope.patterns.labels import why_not_scored
from headscope.surfaces.app.patterns import of_head
from headscope.surfaces.app.readings import Kept
from headscope.views.state import check_heads
from headscope.views.summary import summary


def head_facts(kept: Kept, kind: Kind, layer: int, head: int) -> dict[str, Any]:
    part = kept.reading.part(kind)
    one = part.layer(layer)
    check_heads(part.heads, head)
    patterns = of_head(kept.scores, kind, layer, head)
    best = patterns[0] if patterns and patterns[0]["labelled"] else None
    unmeasured = why_not_scored(part)
    why, why_not = (None, unmeasured) if unmeasured else _why(kept, kind, layer, head, best)
    numbers = summary(part)
    at = part.numbers.index(one.layer)
    return {
        "label": best["name"] if best else None,
        "score": best["score"] if best else None,
        "patterns": patterns,
        "why_no_patterns": unmeasured,
        "statistics": [
            _fact(measure, float(numbers[name][at, head]))
            for name, measure in every().items()
            if measure.origin == "statistic"
            and name in numbers
            and math.isfinite(numbers[name][at, head])
        ],
        "why": why,
        "why_not": why_not,
    }


def _fact(measure: Measure, value: float) -> dict[str, Any]:
    return {
        "name": measure.title,
        "value": value,
        "unit": "" if measure.unit == "share" else measure.unit,
        "note": measure.sentence,
    }


def _why(
    kept: Kept, kind: Kind, layer: int, head: int, best: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, str | None]:
    """The neurons behind the label, in words."""
    if best is None:
        return None, "No pattern stands out on this text, so there is nothing to explain."
    from headscope.patterns.explain import explain

    try:
        found: Any = explain(kept.reading, layer, head, kind=kind)
    except HeadscopeError as error:
        return None, str(error)
    marked = [int(neuron) for neuron in list(found.order)[:8]]
    share = float(found.neurons["share"].head(len(marked)).sum())
    return {"text": found.words, "marked": marked, "share": share}, None
