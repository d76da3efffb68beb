"""Pattern scores of a reading, as labels and as facts of one head."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from headscope.patterns.known import patterns
from headscope.patterns.labels import in_order


def labels_of(scores: pd.DataFrame | None) -> pd.DataFrame | tuple[()]:
    return () if scores is None else in_order(scores)


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
        }
        for row in here.itertuples()
    ]
