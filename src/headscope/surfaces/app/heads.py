"""One head on one text: what it does, what it attends to most, its numbers, and why."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.capture import Kind
from headscope.errors import HeadscopeError
from headscope.measures import Measure, every
from headscope.patterns.labels import why_not_scored
from headscope.patterns.pattern import patterns
from headscope.reading import Part, Reading
from headscope.reading.by_span import tokens_in
from headscope.statistics.of_reading import blocks_of_head
from headscope.surfaces.app.kept import KeptReading
from headscope.views.shared.labels import as_labels, evidence
from headscope.views.shared.numbers import summary
from headscope.views.shared.state import check_heads

NOTHING = "No pattern stands out on this text, so there is nothing to explain."
FIRST = ("entropy", "confidence", "distance", "special_tokens")
PAIRS = 5
CONSIDERED = 64  # strongest pairs per block of queries
CHARTED = 8  # neurons shown


def head_facts(kept: KeptReading, kind: Kind, layer: int, head: int) -> dict[str, Any]:
    part = kept.reading.part(kind)
    one = part.layer(layer)
    check_heads(part.heads, head)
    patterns = of_head(kept.scores, kind, layer, head)
    named = label_of(kept, kind, layer, head)
    unmeasured = why_not_scored(part)
    if unmeasured or not any(one["labelled"] for one in patterns):
        reason, why_not = None, unmeasured or NOTHING
    else:
        reason, why_not = why(kept, kind, layer, head)
    numbers = summary(part)
    at = part.numbers.index(one.layer)
    return {
        **named,
        "patterns": patterns,
        "why_no_patterns": unmeasured,
        "corpus": over_corpus(kept, kind, layer, head),
        **strongest_pairs(part, layer, head),
        **({"spans": by_span_of(kept.reading, kind, layer, head)} if kept.reading.spans else {}),
        "statistics": [
            _fact(measure, float(numbers[measure.name][at, head]))
            for measure in _in_order(every().values())
            if measure.name in numbers and math.isfinite(numbers[measure.name][at, head])
        ],
        "why": reason,
        "why_not": why_not,
    }


def by_span_of(reading: Reading, kind: Kind, layer: int, head: int) -> list[dict[str, Any]]:
    """How much a head attends to each document and message of a conversation.

    The mean over the answer's tokens; without an answer, from the last token.
    """
    spans = [one for one in reading.spans if one.of in ("document", "message")]
    if kind != "decoder" or not spans:
        return []
    part = reading.part(kind)
    answer = next((one for one in reading.spans if one.of == "answer"), None)
    rows = [len(part.query) - 1]
    if answer is not None:
        rows = np.flatnonzero(tokens_in(part.query, answer)).tolist() or rows
    weights = part.layer(layer).head_weights(slice(head, head + 1), np.array(rows))[0].mean(0)
    return [
        {"name": one.name, "share": float(weights[tokens_in(part.key, one)].sum())} for one in spans
    ]


def _in_order(measures: Any) -> list[Measure]:
    """Statistics, the most common first; patterns are listed separately."""
    known = [measure for measure in measures if measure.origin == "statistic"]
    return sorted(known, key=lambda m: FIRST.index(m.name) if m.name in FIRST else len(FIRST))


def _fact(measure: Measure, value: float) -> dict[str, Any]:
    return {
        "name": measure.title,
        "value": value,
        "unit": "" if measure.unit == "share" else measure.unit,
        "note": measure.sentence,
    }


def label_of(kept: KeptReading, kind: str, layer: int, head: int) -> dict[str, Any]:
    """The head's name with its evidence, here or over a corpus; and the sink beside it.

    A sink is not a label: many heads have one, and it does not show what else they do.
    """
    found: dict[str, Any] = {"label": None, "score": None, "about": None, "evidence": None}
    at = (kind, layer, head)
    for each in as_labels(kept.labels, kind):
        if (each.kind, each.layer, each.head) == at and not each.rests:
            about = next(one.about for one in patterns().values() if one.label == each.text)
            found = {"label": each.text, "score": each.score, "about": f"It {about}."}
            found["evidence"] = each.evidence
    sinks = [one for one in of_head(kept.scores, *at) if one["labelled"] and one["rests"]]
    return found | {"sink": sinks[0] if sinks else None}


def of_head(scores: pd.DataFrame | None, kind: str, layer: int, head: int) -> list[dict[str, Any]]:
    """Labelled patterns first, then the others, each by its score."""
    if scores is None or scores.empty:
        return []
    here: Any = scores[
        (scores["kind"] == kind) & (scores["layer"] == layer) & (scores["head"] == head)
    ]
    here = here[np.isfinite(here["score"].astype(float))]
    here = here.sort_values(["labelled", "score"], ascending=False)
    return [
        {
            "name": patterns()[row.pattern].label,
            "score": float(row.score),
            "lift": float(row.lift) if math.isfinite(row.lift) else None,
            "labelled": bool(row.labelled),
            "about": patterns()[row.pattern].about,
            "rests": patterns()[row.pattern].rests,
            "evidence": evidence(row),
        }
        for row in here.itertuples()
    ]


def strongest_pairs(part: Part, layer: int, head: int) -> dict[str, Any]:
    """Each pair of words once; special tokens and, in a decoder, the first token are left out."""
    query, key = part.query, part.key
    shown = torch.from_numpy(counted_keys(part))
    asking = torch.from_numpy(query.content.copy())
    found: list[tuple[float, int, int]] = []
    for queries, weights in blocks_of_head(part, layer, head):  # tq s, of the keys that are seen
        keys, device = weights.shape[1], weights.device
        weights = weights * shown[:keys].to(device) * asking[queries].to(device)[:, None]
        best = weights.flatten().topk(min(CONSIDERED, weights.numel()))
        at_each = best.indices.tolist()
        found += [
            (weight, queries.start + at // keys, at % keys)
            for weight, at in zip(best.values.tolist(), at_each, strict=True)
        ]
    found.sort(reverse=True)
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    for weight, at, to in found:
        if weight > 0:
            words = query.labels[at].lower(), key.labels[to].lower()
            kept.setdefault(words, {"query": at, "key": to, "weight": weight})
    return {"looks": list(kept.values())[:PAIRS], "left_out": _left_out(part)}


def counted_keys(part: Part) -> NDArray[np.bool_]:
    """The keys that are listed: no special token, and not the first one of a decoder."""
    counted = part.key.content.copy()
    if part.causal and len(counted) > 1:
        counted[0] = False
    return counted


def _left_out(part: Part) -> str | None:
    special = not bool(part.key.content.all() and part.query.content.all())
    first = part.causal and len(part.key) > 1
    if special and first:
        return "Left out: special tokens, and the first token as a key."
    if first:
        return "Left out: the first token as a key."
    return "Left out: special tokens." if special else None


def why(
    kept: KeptReading, kind: Kind, layer: int, head: int
) -> tuple[dict[str, Any] | None, str | None]:
    """The neurons behind the label, or a sentence on why there is no explanation."""
    from headscope.patterns.explain import explain

    try:
        found: Any = explain(kept.reading, layer, head, kind=kind)
    except HeadscopeError as error:
        return None, str(error)
    rows = found.neurons.head(CHARTED)
    lift = _lift(found)
    marked = [int(neuron) for neuron in list(found.order)[:CHARTED]]
    reply = {
        "text": found.words,
        "sentence": _sentence(found),
        "neurons": [
            {
                "name": str(row.neuron),
                "contribution": float(row.contribution),
                "share": float(row.contribution) / lift if lift > 0 else 0.0,
            }
            for row in rows.itertuples()
        ],
        "marked": marked,
        "share": _carried(found, len(marked)),
    }
    return reply, None


def _lift(found: Any) -> float:
    """The sum over all neurons that favour the label, so that no share exceeds one."""
    return float(found.neurons["contribution"].clip(lower=0).sum())


def _carried(found: Any, count: int) -> float:
    lift = _lift(found)
    own = float(found.neurons["contribution"].head(count).clip(lower=0).sum())
    return own / lift if lift > 0 else 0.0


def _sentence(found: Any) -> str:
    if found.delta.total <= 0:
        return "Its neurons together do not lift what the label names above the rest."
    size = found.size
    verb = "carry" if size > 1 else "carries"
    return (
        f"{size} of {found.count} {found.unit} {verb} {_carried(found, size):.0%} of what lifts "
        f"these words above the others; without them the score goes from "
        f"{found.causal.score:.2f} to {found.causal.without:.2f}."
    )


def over_corpus(kept: KeptReading, kind: Kind, layer: int, head: int) -> dict[str, Any] | None:
    """The head's label over a corpus, if there is one and no edit changes the head."""
    if kept.known is None:
        return None
    table: Any = kept.known
    here = table[(table["kind"] == kind) & (table["layer"] == layer) & (table["head"] == head)]
    if here.empty:
        return None
    row = here.iloc[0]
    return {
        "label": str(row["label"]),
        "score": float(row["score"]),
        "evidence": (
            f"± {1.96 * float(row['error']):.3f} over {int(row['documents'])} texts, "
            f"{float(row['lift']):.1f} times what uniform attention gives."
        ),
    }
