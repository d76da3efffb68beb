"""The labels as stored: `labels.csv` (checked by eye), `second.csv` (a second, blind pass)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from training.kinds.maps import Place

HERE = Path(__file__).parent
LABELS, SECOND = HERE / "labels.csv", HERE / "second.csv"


def read(path: Path = LABELS) -> pd.DataFrame:
    """model, layer, head, text, rule, label."""
    return pd.read_csv(path)


def places(frame: pd.DataFrame) -> list[Place]:
    return [
        Place(str(row.model), int(row.layer), int(row.head), int(row.text))
        for row in frame.itertuples()
    ]
