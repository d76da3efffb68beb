"""What one head looks at most on one text: the strongest pairs of words."""

from __future__ import annotations

from typing import Any

import torch

from headscope.reading import Part
from headscope.statistics.of_reading import blocks_of_head

PAIRS = 5
CONSIDERED = 64  # of the strongest of each block of queries


def strongest_pairs(part: Part, layer: int, head: int) -> dict[str, Any]:
    """Each pair of words once; special tokens and, in a decoder, the first token are left out."""
    query, key = part.query, part.key
    shown = torch.from_numpy(key.content.copy())
    if part.causal and len(key) > 1:
        shown[0] = False
    asking = torch.from_numpy(query.content.copy())
    found: list[tuple[float, int, int]] = []
    for queries, weights in blocks_of_head(part, layer, head):  # tq s, of the keys that are seen
        keys, device = weights.shape[1], weights.device
        weights = weights * shown[:keys].to(device) * asking[queries].to(device)[:, None]
        best = weights.flatten().topk(min(CONSIDERED, weights.numel()))
        places = best.indices.tolist()
        found += [
            (weight, queries.start + at // keys, at % keys)
            for weight, at in zip(best.values.tolist(), places, strict=True)
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
