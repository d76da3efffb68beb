"""Labels a view shows when none were given: those of the bundled model, or of this text alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.reading import Reading

MOST_TOKENS = 128  # beyond it, naming heads would take longer than showing them


def labels_for(reading: Reading) -> Any:
    """A table of labels, or None where the text is long or no weights were kept."""
    from headscope.patterns import quick_labels

    for part in reading.parts.values():
        if max(len(part.query), len(part.key)) > MOST_TOKENS:
            return None
        if (part.query.ids < 0).any():  # given tokens: which of them are the same is not known
            return None
        if any(layer.weights is None for layer in part.layers):
            return None
    return quick_labels(reading)
