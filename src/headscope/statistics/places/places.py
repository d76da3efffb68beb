"""The places of one kind of attention: lists, counts, and the texts behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.places.counts import Counts
from headscope.statistics.places.lists import PlaceList
from headscope.statistics.places.settings import TENTHS, PlaceSettings
from headscope.statistics.places.texts import KeptText, from_arrays, to_arrays

Array = NDArray[Any]


class Places:
    """State whose size depends on the model and the settings, not on the corpus."""

    def __init__(
        self, names: tuple[str, ...], heads: int, vocabulary: int, s: PlaceSettings
    ) -> None:
        self.names = names  # of the measures that apply to this kind
        self.settings = s
        count = len(names)
        self.top = PlaceList.empty((heads, count, s.top), s.keys)
        self.tenths = PlaceList.empty((heads, count, TENTHS, s.per_tenth), s.keys)
        self.histogram = np.zeros((heads, count, TENTHS), dtype=np.int64)
        self.counts = Counts(heads, vocabulary, s.pairs)
        self.texts: dict[int, KeptText] = {}

    def merge(self, other: Places) -> None:
        self.top = self.top.merged(other.top, self.settings.top)
        self.tenths = self.tenths.merged(other.tenths, self.settings.per_tenth)
        self.histogram += other.histogram
        self.counts.merge(other.counts)
        self.texts |= other.texts
        self.forget_texts()

    def forget_texts(self) -> None:
        """Drop the texts that no kept place is in."""
        kept = {*self.top.documents().tolist(), *self.tenths.documents().tolist()}
        self.texts = {number: text for number, text in self.texts.items() if number in kept}

    def arrays(self) -> dict[str, Array]:
        parts = {
            "top": self.top.arrays(),
            "tenths": self.tenths.arrays(),
            "counts": self.counts.arrays(),
            "texts": to_arrays(self.texts),
        }
        found: dict[str, Array] = {"histogram": self.histogram}
        for part, arrays in parts.items():
            found |= {f"{part}:{name}": array for name, array in arrays.items()}
        return found

    def restore(self, arrays: dict[str, Array]) -> None:
        def of(part: str) -> dict[str, Array]:
            return {
                name.partition(":")[2]: array
                for name, array in arrays.items()
                if name.startswith(f"{part}:")
            }

        self.histogram = arrays["histogram"].astype(np.int64)
        self.top, self.tenths = PlaceList.restored(of("top")), PlaceList.restored(of("tenths"))
        self.counts.restore(of("counts"))
        self.texts = from_arrays(of("texts"))
