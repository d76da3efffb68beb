"""Lists of examples, best first, that merge with others of their kind."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
EMPTY = -1  # the document of an empty slot


@dataclass
class Ranked:
    """Slots of examples along the last axis of `order`; leading axes hold several lists.

    Smaller `order` comes first; ties go to the earlier document and query. Empty slots come last.
    The strongest examples have a list for every head and measure, drawn positions one list with
    values and keys of all heads.
    """

    order: NDArray[np.float64]  # … n, inf in an empty slot
    document: NDArray[np.int64]  # … n
    query: NDArray[np.int32]  # … n
    value: NDArray[np.float32]  # … n, or n H M
    keys: NDArray[np.int32]  # … n K, or n H K: heaviest first, -1 where there are fewer
    weights: NDArray[np.float32]  # as keys

    def worst(self, count: int) -> Any:
        """The order above which nothing enters lists of `count` slots."""
        full = self.order.shape[-1] >= count
        return self.order[..., count - 1] if full else np.full(self.order.shape[:-1], np.inf)

    def merged(self, other: Ranked, count: int) -> Ranked:
        """The best `count` of both."""
        axis = self.order.ndim - 1
        joined = {
            name: np.concatenate([getattr(self, name), getattr(other, name)], axis=axis)
            for name in _NAMES
        }
        keys = (joined["query"], joined["document"], joined["order"])
        best = np.lexsort(keys, axis=-1)[..., :count]
        width = joined["order"].shape[-1]
        lists = np.arange(joined["order"].size // max(width, 1)).reshape(*best.shape[:-1], 1)
        at = lists * width + best
        found = {
            name: array.reshape(-1, *array.shape[axis + 1 :])[at] for name, array in joined.items()
        }
        return Ranked(**found)

    def documents(self) -> NDArray[np.int64]:
        found = np.unique(self.document)
        return found[found != EMPTY]

    def arrays(self) -> dict[str, Array]:
        return {name: getattr(self, name) for name in _NAMES}


_NAMES = tuple(field.name for field in fields(Ranked))


def no_examples(lists: tuple[int, ...], value: tuple[int, ...], keys: tuple[int, ...]) -> Ranked:
    """Lists without a slot; `value` and `keys` give the shapes that a slot has."""
    none = (*lists, 0)
    return Ranked(
        np.zeros(none),
        np.zeros(none, dtype=np.int64),
        np.zeros(none, dtype=np.int32),
        np.zeros((*none, *value), dtype=np.float32),
        np.zeros((*none, *keys), dtype=np.int32),
        np.zeros((*none, *keys), dtype=np.float32),
    )
