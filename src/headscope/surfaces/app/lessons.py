"""What an example teaches on the model at hand: the head it opens, and sentences true of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.patterns.as_statistics import part_of_pattern
from headscope.patterns.known import pattern_named
from headscope.reading import Part
from headscope.statistics.of_reading import measure_part
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
    """Layers × heads: the pattern's score on this very text, not on repeated random tokens."""
    score = part_of_pattern(pattern_named("induction"), "score")
    return measure_part(part, [score]).get(score.name)
