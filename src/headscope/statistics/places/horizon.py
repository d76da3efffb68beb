"""What a process has kept of earlier portions: what falls behind it need not be looked at again.

A place that is weaker than as many as are kept, in portions that are merged before, can never come
into a list. Knowing that changes no list; it spares looking up the keys of what would be dropped.

But it decides which keys are looked up together, and on a GPU the last bit of a weight may depend
on that. So what is known there must not depend on which process read what, nor on where a run was
stopped: a run that goes on learns from what was kept, and a worker knows of its shard alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headscope.capture import Kind
    from headscope.statistics.places.places import Places


class Horizon:
    """The last order that still comes into each list, by kind of attention."""

    def __init__(self) -> None:
        self._top: dict[str, NDArray[np.float64]] = {}  # H M top
        self._drawn: dict[str, NDArray[np.float64]] = {}  # sample

    def learn(self, every: Mapping[Kind, Places]) -> None:
        """Take in what one or several portions kept, by kind."""
        for kind, places in every.items():
            for of, new in ((self._top, places.top.order), (self._drawn, places.drawn.order)):
                both = new if kind not in of else np.concatenate([of[kind], new], axis=-1)
                of[kind] = np.sort(both, axis=-1)[..., : new.shape[-1]]

    def forget(self) -> None:
        """What comes next is looked at as if nothing came before."""
        self._top.clear()
        self._drawn.clear()

    def top(self, kind: str, places: Places) -> NDArray[np.float64]:
        """H M: orders above cannot come into the lists; infinite while nothing is known."""
        if kind not in self._top:
            return np.full(places.top.order.shape[:2], np.inf)
        return self._top[kind][..., -1]

    def drawn(self, kind: str) -> float:
        return np.inf if kind not in self._drawn else float(self._drawn[kind][-1])
