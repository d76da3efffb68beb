"""One head's score on one reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from headscope.errors import BadInput
from headscope.patterns.map_scores import score_maps
from headscope.patterns.pattern import Pattern
from headscope.statistics.features.grid import grid_of

if TYPE_CHECKING:
    from headscope.reading import Reading


def head_score(reading: Reading, layer: int, head: int, pattern: Pattern) -> float:
    """The pattern's score of one head; nan where no token of the text has a target."""
    part = reading.part()
    grid = grid_of([part.query], kind=part.kind, causal=part.causal)
    maps = torch.from_numpy(np.array(part.head_weights(layer, head), np.float32))[None, None]
    scores = score_maps(pattern, maps, grid)
    if scores is None:
        raise BadInput(f"The pattern {pattern.label!r} does not apply to this kind of attention.")
    return float(scores.score[0, 0])
