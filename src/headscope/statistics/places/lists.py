"""The list of the strongest places: parts of it merge exactly, in any order."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
NOBODY = -1  # the document of an empty slot


@dataclass
class PlaceList:
    """Slots of places, best first along the last axis; `order` is what they are sorted by.

    Smaller `order` comes first; ties go to the earlier document and query. Empty slots have the
    document -1 and stand last.
    """

    order: NDArray[np.float64]  # … n
    document: NDArray[np.int64]  # … n
    query: NDArray[np.int32]  # … n
    value: NDArray[np.float32]  # … n
    keys: NDArray[np.int32]  # … n K
    weights: NDArray[np.float32]  # … n K

    @staticmethod
    def empty(shape: tuple[int, ...], keys: int) -> PlaceList:
        return PlaceList(
            np.full(shape, np.inf),
            np.full(shape, NOBODY, dtype=np.int64),
            np.zeros(shape, dtype=np.int32),
            np.zeros(shape, dtype=np.float32),
            np.full((*shape, keys), -1, dtype=np.int32),
            np.zeros((*shape, keys), dtype=np.float32),
        )

    def merged(self, other: PlaceList, count: int) -> PlaceList:
        """The best `count` of both."""
        joined = {
            name: np.concatenate([getattr(self, name), getattr(other, name)], axis=self._axis)
            for name in _NAMES
        }
        document = np.where(joined["document"] == NOBODY, _LAST, joined["document"])
        best = np.lexsort((joined["query"], document, joined["order"]), axis=-1)[..., :count]
        lists = joined["order"].size // joined["order"].shape[-1]
        first = np.arange(lists).reshape(*best.shape[:-1], 1) * joined["order"].shape[-1]
        taken: dict[str, Any] = {
            name: array.reshape(-1, *array.shape[best.ndim :])[first + best]
            for name, array in joined.items()
        }
        return PlaceList(**taken)

    @property
    def _axis(self) -> int:
        return self.order.ndim - 1

    def documents(self) -> NDArray[np.int64]:
        """The documents that places are in."""
        found = np.unique(self.document)
        return found[found != NOBODY]

    def arrays(self) -> dict[str, Array]:
        return {name: getattr(self, name) for name in _NAMES}

    @staticmethod
    def restored(arrays: dict[str, Array]) -> PlaceList:
        return PlaceList(**{name: arrays[name] for name in _NAMES})


_NAMES = tuple(field.name for field in fields(PlaceList))
_LAST = np.iinfo(np.int64).max
