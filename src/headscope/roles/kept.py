"""A bounded sample of documents with all heads' maps, for choosing heads together and for pictures.

Documents are drawn at random; the even ones choose heads, the odd ones score them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.roles.plans import Plan

ROOM = 128 << 20  # bytes for each half
Maps = NDArray[np.float16]  # direction layer head q k


@dataclass
class KeptDocument:
    plan: Plan
    key: float
    maps: Maps


class Kept:
    """The documents with the smallest random keys, as many as fit."""

    def __init__(self, shape: tuple[int, int, int], seed: int, room: int = ROOM) -> None:
        self._shape, self._seed, self._room = shape, seed, room
        self._halves: tuple[list[KeptDocument], ...] = ([], [])
        self._bound = [np.inf, np.inf]
        self._open: dict[int, KeptDocument] = {}

    def begin(self, plans: Sequence[Plan]) -> None:
        """Allocate memory for the drawn documents of a batch."""
        self._open = {}
        for row, one in enumerate(plans):
            key = float(np.random.default_rng([self._seed, one.number]).random())
            size = int(np.prod(self._shape)) * one.right.size * 2
            if key < self._bound[one.number % 2] and size <= self._room:
                maps = np.zeros((*self._shape, *one.right.shape), np.float16)
                self._open[row] = KeptDocument(one, key, maps)

    def add(self, direction: int, layer: int, maps: Any) -> None:
        """Add b h q k of one layer."""
        for row, kept in self._open.items():
            queries, keys = kept.plan.right.shape
            kept.maps[direction, layer] = maps[row, :, :queries, :keys].cpu().numpy()

    def end(self) -> None:
        for kept in self._open.values():
            half = kept.plan.number % 2
            own = self._halves[half]
            own.append(kept)
            own.sort(key=lambda one: one.key)
            used = np.cumsum([one.maps.nbytes for one in own])
            if used[-1] > self._room:
                cut = int(np.searchsorted(used, self._room, side="right"))
                self._bound[half] = own[cut].key
                del own[cut:]
        self._open = {}

    def half(self, which: int) -> list[KeptDocument]:
        """Kept documents in their own order."""
        return sorted(self._halves[which], key=lambda one: one.plan.number)

    def __iter__(self) -> Iterator[KeptDocument]:
        return iter(sorted(self.half(0) + self.half(1), key=lambda one: one.plan.number))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {f"kept.{one.plan.number}": one.maps for one in self}

    def restore(self, plans: Sequence[Plan], arrays: Mapping[str, Any]) -> None:
        """Restore the documents of an earlier batch."""
        self.begin([one for one in plans if f"kept.{one.number}" in arrays])
        for kept in self._open.values():
            kept.maps = arrays[f"kept.{kept.plan.number}"]
        self.end()
