"""What the heads of a reading are called when the caller named none.

Measured on this text where that is quick; a long text read by the bundled model gets the labels
that were measured over a corpus and come with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Reading

MOST_TOKENS = 128  # beyond it, naming heads would take longer than showing them


def labels_for(reading: Reading) -> pd.DataFrame | None:
    """A table of labels; None where the text is long or its patterns cannot be told."""
    from headscope.models.bundle import NAME as BUNDLED_NAME
    from headscope.patterns import bundled_labels, quick_labels

    if can_be_scored(reading):
        return quick_labels(reading)
    return bundled_labels() if reading.model == BUNDLED_NAME else None


def scores_for(reading: Reading) -> pd.DataFrame | None:
    """Every head on every pattern, labelled or not."""
    from headscope.patterns.labels import quick_table

    return quick_table(reading) if can_be_scored(reading) else None


def can_be_scored(reading: Reading) -> bool:
    for part in reading.parts.values():
        if max(len(part.query), len(part.key)) > MOST_TOKENS:
            return False
        if (part.query.ids == -1).any():  # which of them are the same is not known
            return False
        if any(not layer.has_weights for layer in part.layers):
            return False
    return True
