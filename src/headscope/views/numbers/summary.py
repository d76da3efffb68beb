"""Numbers of every head on one text: what the head map colours by and the head panel lists.

They are the measures of a survey, of this reading alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.measures import every, find
from headscope.patterns.labels import why_not_scored
from headscope.reading import Part
from headscope.statistics.of_media import media_values
from headscope.statistics.of_reading import reading_values


def summary(part: Part) -> dict[str, NDArray[np.float64]]:
    """Each measure as layers × heads, patterns last; those undefined for this reading left out."""
    values = {**reading_values(part), **media_values(part)}
    shown = [m for m in every().values() if m.yardstick_of is None and m.name in values]
    if why_not_scored(part):
        shown = [measure for measure in shown if measure.origin != "pattern"]
    shown.sort(key=lambda measure: measure.origin == "pattern")
    return {measure.name: values[measure.name] for measure in shown}


def describe_column(name: str, values: NDArray[np.floating]) -> dict[str, object]:
    """What a page writes beside a column of numbers."""
    finite = values[np.isfinite(values)]
    signed = bool(finite.size and finite.min() < 0 < finite.max())
    scale = "diverging" if signed else "sequential"
    measure = find(name)
    if measure is None:
        return {"name": name, "title": name.replace("_", " "), "scale": scale}
    column: dict[str, object] = {
        "name": name,
        "title": measure.title,
        "note": measure.sentence,
        "scale": scale,
    }
    if measure.unit != "share":
        column["unit"] = measure.unit
    if measure.is_share:
        column["range"] = [0.0, 1.0]
    return column
