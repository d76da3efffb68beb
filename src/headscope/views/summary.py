"""Numbers of every head on one text: what the head map colours by and the head panel lists.

They describe this reading alone; a survey measures heads over a corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.reading import Part

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Measure:
    title: str
    note: str
    unit: str = ""
    share: bool = True  # between 0 and 1


MEASURES: Mapping[str, Measure] = {
    "entropy": Measure(
        "entropy", "How widely the head spreads its attention.", "nats", share=False
    ),
    "confidence": Measure("confidence", "The largest weight of a query, on average."),
    "previous": Measure("previous token", "Attention to the token just before."),
    "next": Measure("next token", "Attention to the token just after."),
    "itself": Measure("itself", "Attention of a token to itself."),
    "first": Measure("first token", "Attention to the first token of the text."),
    "specials": Measure("special tokens", "Attention to special tokens such as [CLS] and [SEP]."),
    "other_sentence": Measure("other sentence", "Attention across the two sentences."),
    "distance": Measure(
        "distance", "Tokens between query and key, on average.", "tokens", share=False
    ),
}


def summary(part: Part) -> dict[str, Floats]:
    """Each measure as layers × heads; those that mean nothing for this reading are left out."""
    rows: dict[str, list[Floats]] = {}
    for layer in part.numbers:
        for name, values in summary_of_layer(part, part.weights(layer)).items():
            missing = part.heads - values.size
            rows.setdefault(name, []).append(np.pad(values, (0, missing), constant_values=np.nan))
    return {name: np.stack(values) for name, values in rows.items()}


def summary_of_layer(part: Part, weights: Floats) -> dict[str, Floats]:  # h t s -> name: h
    logs = np.log(np.where(weights > 0, weights, 1.0))
    found = {
        "entropy": -(weights * logs).sum(-1).mean(-1),
        "confidence": weights.max(-1).mean(-1),
        "first": weights[:, :, 0].mean(-1),
        "specials": weights[:, :, ~part.key.content].sum(-1).mean(-1),
    }
    if part.kind == "cross":
        return found
    count = weights.shape[1]
    back = np.arange(count)[:, None] - np.arange(count)[None, :]
    found["itself"] = np.diagonal(weights, axis1=1, axis2=2).mean(-1)
    found["distance"] = (weights * np.abs(back)).sum(-1).mean(-1)
    if count > 1:
        found["previous"] = np.diagonal(weights, -1, 1, 2).sum(-1) / (count - 1)
        if not part.causal:
            found["next"] = np.diagonal(weights, 1, 1, 2).sum(-1) / (count - 1)
    other = part.query.segments[:, None] != part.key.segments[None, :]
    if other.any():
        found["other_sentence"] = (weights * other).sum(-1).mean(-1)
    return {name: found[name] for name in MEASURES if name in found}
