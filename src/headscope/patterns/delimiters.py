"""Targets of the delimiter patterns: the n-th token of one special class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headscope.patterns.grid import Grid
from headscope.patterns.pattern import Targets


def delimiter(token_class: int, which: int) -> Callable[[Grid], Targets | None]:
    """Targets: from every content token to the delimiter number `which` of its class."""

    def targets(grid: Grid) -> Targets | None:
        places = np.flatnonzero(grid.key.classes == token_class)
        if not grid.square or len(places) <= which:
            return None
        pool = grid.query.content[:, None] & grid.visible
        here = np.zeros(grid.shape[1], bool)
        here[places[which]] = True
        return Targets(pool & here[None, :], pool)

    return targets
