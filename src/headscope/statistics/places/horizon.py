"""What a process has kept of earlier portions: what falls behind it need not be looked at again.

A place that is weaker than as many as are kept, in portions that are merged before, can never come
into a list. Knowing that changes no list; it spares looking up the keys of what would be dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headscope.statistics.places.places import Places


class Horizon:
    """The last order that still comes into each list, by kind of attention."""

    def __init__(self) -> None:
        self._top: dict[str, NDArray[np.float64]] = {}  # H M top
        self._drawn: dict[str, NDArray[np.float64]] = {}  # sample

    def learn(self, kind: str, places: Places) -> None:
        """Take in what a portion kept."""
        found = {"top": places.top.order, "drawn": places.drawn.order}
        for of, name in ((self._top, "top"), (self._drawn, "drawn")):
            new = found[name]
            both = new if kind not in of else np.concatenate([of[kind], new], axis=-1)
            of[kind] = np.sort(both, axis=-1)[..., : new.shape[-1]]

    def top(self, kind: str, places: Places) -> NDArray[np.float64]:
        """H M: orders above cannot come into the lists; infinite while nothing is known."""
        if kind not in self._top:
            return np.full(places.top.order.shape[:2], np.inf)
        return self._top[kind][..., -1]

    def drawn(self, kind: str) -> float:
        return np.inf if kind not in self._drawn else float(self._drawn[kind][-1])
