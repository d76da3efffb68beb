"""Two readings compared: how much each head changed, and which heads correspond."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.reading import Part
from headscope.statistics.distances.alike import Alike, by_distance, overlap, same_words
from headscope.surfaces.app.kept import KeptReading

BY_OVERLAP = (
    "Likeness is the overlap of two heads' attention to the same words: 1 where they attend alike, "
    "0 where they look at nothing in common."
)
BY_DISTANCE = (
    "The two texts differ, so heads are compared by how many words before or after they look: "
    "likeness is 1 where they look equally far the same way, 0 where they never do."
)


def comparison(one: KeptReading, two: KeptReading) -> dict[str, Any]:
    part = one.reading.part()
    if part.kind not in two.reading.parts:
        kinds = " and ".join(two.reading.kinds)
        raise BadInput(f"The other reading has no {part.kind} attention; it has {kinds}.")
    other = two.reading.part(part.kind)
    words = same_words(part, other)
    found = overlap(part, other) if words else by_distance(part, other)
    return {
        "kind": part.kind,
        "layers": list(part.numbers),
        "heads": part.heads,
        "change": _change(part, found).ravel().tolist(),
        "matches": [
            {"layer": mine[0], "head": mine[1], "to": list(theirs), "likeness": round(likeness, 4)}
            for mine, (theirs, likeness) in found.matched().items()
        ],
        "note": BY_OVERLAP if words else BY_DISTANCE,
    }


def _change(part: Part, found: Alike) -> NDArray[np.float64]:
    """1 − likeness of the heads with the same number; −1 if the other has no such head."""
    change = np.full((len(part.numbers), part.heads), -1.0)
    for (layer, head), likeness in found.same_number().items():
        change[part.numbers.index(layer), head] = round(1.0 - likeness, 4)
    return change
