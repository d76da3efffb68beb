"""Every measure of a part whose positions lie in a picture or a sound."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from headscope.media import PositionKind, Positions
from headscope.reading import Part
from headscope.statistics.media.definitions import Sides, known
from headscope.text.tokens import Tokens

Values = dict[str, NDArray[np.float64]]
_kept: WeakKeyDictionary[Part, Values] = WeakKeyDictionary()


def media_values(part: Part) -> Values:
    """Measures as layers × heads; those that are undefined for every head are left out.

    Empty for a part of text alone. Computed once for a part and kept with it.
    """
    if part.query.positions is None and part.key.positions is None:
        return {}
    if part not in _kept:
        _kept[part] = _measured(part)
    return _kept[part]


def _measured(part: Part) -> Values:
    sides = Sides(positions_of(part.query), positions_of(part.key))
    found = {name: np.full((len(part.numbers), part.heads), np.nan) for name in known()}
    for at, number in enumerate(part.numbers):
        for head in range(part.layer(number).shape[0]):
            weights = np.asarray(part.head_weights(number, head), dtype=np.float64)
            for name, (_, function) in known().items():
                found[name][at, head] = function(weights, sides)
    return {name: values for name, values in found.items() if not np.isnan(values).all()}


def positions_of(tokens: Tokens) -> Positions:
    """Words and special tokens have positions too: nowhere."""
    if tokens.positions is not None:
        return tokens.positions
    kinds = np.where(tokens.content, PositionKind.WORD, PositionKind.SPECIAL)
    return Positions.nowhere(kinds.astype(np.int8))
