"""Places drawn at random from a corpus, looked at for every head: the same in any order and split.

Every place of a corpus has a fixed number (`scrambled`); the places with the lowest are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
NOBODY = -1  # the document of an empty slot


@dataclass
class Drawn:
    """Slots of places, the lowest number first; empty ones have the document -1 and stand last."""

    order: NDArray[np.float64]  # n
    document: NDArray[np.int64]  # n
    query: NDArray[np.int32]  # n
    values: NDArray[np.float32]  # n H M, nan where a measure has none
    keys: NDArray[np.int32]  # n H K, heaviest first
    weights: NDArray[np.float32]  # n H K

    @staticmethod
    def empty(count: int, heads: int, measures: int, keys: int) -> Drawn:
        return Drawn(
            np.full(count, np.inf),
            np.full(count, NOBODY, dtype=np.int64),
            np.zeros(count, dtype=np.int32),
            np.full((count, heads, measures), np.nan, dtype=np.float32),
            np.full((count, heads, keys), -1, dtype=np.int32),
            np.zeros((count, heads, keys), dtype=np.float32),
        )

    def merged(self, other: Drawn, count: int) -> Drawn:
        """The lowest `count` of both."""
        order = np.concatenate([self.order, other.order])
        document = np.concatenate([self.document, other.document])
        query = np.concatenate([self.query, other.query])
        best = np.lexsort((query, document, order))[:count]
        theirs = best >= len(self.order)
        mine, others = best[~theirs], best[theirs] - len(self.order)

        def taken(name: str) -> Array:
            ours = getattr(self, name)
            found = np.empty((len(best), *ours.shape[1:]), dtype=ours.dtype)
            found[~theirs], found[theirs] = ours[mine], getattr(other, name)[others]
            return found

        made: dict[str, Any] = {name: taken(name) for name in _NAMES}
        return Drawn(**made)

    def __len__(self) -> int:
        return int((self.document != NOBODY).sum())

    def documents(self) -> NDArray[np.int64]:
        found = np.unique(self.document)
        return found[found != NOBODY]

    def arrays(self) -> dict[str, Array]:
        """Filled slots alone: a small portion has few."""
        return {name: getattr(self, name)[: len(self)] for name in _NAMES}

    def restore(self, arrays: dict[str, Array]) -> None:
        for name in _NAMES:
            getattr(self, name)[: len(arrays["order"])] = arrays[name]

    def __getstate__(self) -> dict[str, Any]:
        return {"size": len(self.order), "filled": self.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        filled = state["filled"]
        heads, measures = filled["values"].shape[1:]
        empty = Drawn.empty(state["size"], heads, measures, filled["keys"].shape[2])
        for name in _NAMES:
            setattr(self, name, getattr(empty, name))
        self.restore(filled)


_NAMES = tuple(field.name for field in fields(Drawn))
