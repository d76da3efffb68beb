"""What an example teaches on the model at hand: the head it opens, and sentences true of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.reading import Part
from headscope.surfaces.app.examples import CLEAR, EXAMPLES, Example


def lesson_for(
    text: str, text_pair: str | None, part: Part, numbers: Mapping[str, NDArray[np.floating]]
) -> dict[str, Any] | None:
    """The lesson of the example with this text, None for any other text.

    numbers: layers × heads of every measure of this reading.
    """
    for example in EXAMPLES:
        if (example.text, example.text_pair) == (text, text_pair or None):
            return _taught(example, part, numbers)
    return None


def _taught(
    example: Example, part: Part, numbers: Mapping[str, NDArray[np.floating]]
) -> dict[str, Any] | None:
    kept = ("title", "says", "tries", "view")
    lesson: dict[str, Any] = {name: getattr(example, name) for name in kept}
    values = induction(part) if example.measure == "induction" else numbers.get(example.measure)
    if not example.measure:
        return lesson
    if values is None or not np.isfinite(values).any():
        return None  # what the example would say of a head cannot be measured here
    best = int(np.nanargmax(values))
    layer, head = divmod(best, values.shape[1])
    score = float(values.flat[best])
    if score < CLEAR and example.unclear:
        lesson["says"] = example.unclear
    return lesson | {"layer": part.numbers[layer], "head": head, "score": score}


def induction(part: Part) -> NDArray[np.float64] | None:
    """Layers × heads: attention to what followed an earlier copy of the query's token, the mean
    over the tokens that have one; None where no token is repeated."""
    ids = part.query.ids
    count = len(ids)
    copies = (ids[:, None] == ids[None, :]) & np.tri(count, k=-1, dtype=bool)
    targets = np.zeros((count, count), dtype=bool)
    targets[:, 1:] = copies[:, :-1]
    targets &= np.tri(count, dtype=bool)
    asked = targets.any(axis=1)
    if not asked.any() or part.kind == "cross":
        return None
    found = np.full((len(part.numbers), part.heads), np.nan)
    for at, layer in enumerate(part.layers):
        weights = layer.head_weights(slice(None))  # h t s
        mass = (weights * targets).sum(axis=-1)[:, asked].mean(axis=-1)
        found[at, : mass.size] = mass
    return found
