"""What one head looks at most on one text: the strongest pairs of words."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.reading import Part

PAIRS = 5
ROWS = 512  # queries looked at together
CONSIDERED = 64  # of the strongest of each such block


def strongest_pairs(part: Part, layer: int, head: int) -> dict[str, Any]:
    """Each pair of words once; special tokens and, in a decoder, the first token are left out."""
    query, key = part.query, part.key
    shown = key.content.copy()
    if part.causal and len(key) > 1:
        shown[0] = False
    rows = np.flatnonzero(query.content)
    found: list[tuple[float, int, int]] = []
    for low in range(0, rows.size, ROWS):
        some = rows[low : low + ROWS]
        weights = part.layer(layer).head_weights(slice(head, head + 1), some)[0] * shown
        count = min(CONSIDERED, weights.size)
        best = np.argpartition(weights, -count, axis=None)[-count:]
        found += [
            (float(weights.flat[at]), int(some[at // len(key)]), int(at % len(key))) for at in best
        ]
    found.sort(reverse=True)
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    for weight, at, to in found:
        if weight > 0:
            words = query.labels[at].lower(), key.labels[to].lower()
            kept.setdefault(words, {"query": at, "key": to, "weight": weight})
    return {"looks": list(kept.values())[:PAIRS], "left_out": _left_out(part)}


def _left_out(part: Part) -> str | None:
    special = not bool(part.key.content.all() and part.query.content.all())
    first = part.causal and len(part.key) > 1
    if special and first:
        return "Left out: special tokens, and the first token as what is looked at."
    if first:
        return "Left out: the first token as what is looked at."
    return "Left out: special tokens." if special else None
