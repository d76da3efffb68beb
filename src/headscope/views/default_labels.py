"""What the heads of a reading are called when the caller named none: measured on this text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Reading


def labels_for(reading: Reading) -> pd.DataFrame | None:
    """A table of labels; None where no part's patterns can be measured."""
    from headscope.patterns.labels import in_order

    scores = scores_for(reading)
    return None if scores is None else in_order(scores)


def scores_for(reading: Reading) -> pd.DataFrame | None:
    """Every head on every pattern, labelled or not; None where none could be measured."""
    from headscope.patterns.labels import quick_table, why_not_scored

    if all(why_not_scored(part) for part in reading.parts.values()):
        return None
    return quick_table(reading)
