"""The places of one kind of attention: the strongest, those drawn, counts, and their texts."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.statistics.places.counts import Counts
from headscope.statistics.places.deciles import BINS
from headscope.statistics.places.drawn import Drawn
from headscope.statistics.places.lists import PlaceList
from headscope.statistics.places.settings import PlaceSettings
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
        self.drawn = Drawn.empty(s.sample, heads, count, s.keys)
        self.histogram = np.zeros((heads, count, BINS), dtype=np.int64)
        self.counts = Counts(heads, vocabulary, s.pairs, s.text)
        self._binned: torch.Tensor | None = None  # what the histogram lacks, on a GPU
        self.texts: dict[int, KeptText] = {}
        self.key_texts: dict[int, KeptText] = {}  # where keys stand in another text

    def binned(self, device: torch.device) -> torch.Tensor:
        """Where values are counted that are on a GPU; `settle` brings them here."""
        if self._binned is None:
            shape = (*self.histogram.shape[:2], BINS + 1)
            self._binned = torch.zeros(shape, dtype=torch.long, device=device)
        return self._binned

    def settle(self) -> None:
        """Bring here what a GPU has counted; a portion is at its end."""
        self.counts.settle()
        if self._binned is not None:
            binned, self._binned = self._binned, None
            self.histogram = self.histogram + binned[..., :BINS].cpu().numpy()

    def copied(self) -> Places:
        """Another one with the same arrays: no merge writes into an array."""
        made = copy.copy(self)
        made.counts = self.counts.copied()
        return made

    def merge(self, other: Places) -> None:
        self.top = self.top.merged(other.top, self.settings.top)
        self.drawn = self.drawn.merged(other.drawn, self.settings.sample)
        self.histogram = self.histogram + other.histogram
        self.counts.merge(other.counts)
        self.texts = self.texts | other.texts
        self.key_texts = self.key_texts | other.key_texts
        self.forget_texts(self.documents())

    def documents(self) -> set[int]:
        """Those that places are in."""
        return {*self.top.documents().tolist(), *self.drawn.documents().tolist()}

    def forget_texts(self, wanted: set[int]) -> None:
        """Drop the texts that no kept place is in."""
        self.texts = {number: text for number, text in self.texts.items() if number in wanted}
        self.key_texts = {n: text for n, text in self.key_texts.items() if n in wanted}

    def arrays(self) -> dict[str, Array]:
        parts = {
            "top": self.top.arrays(),
            "drawn": self.drawn.arrays(),
            "counts": self.counts.arrays(),
            "texts": to_arrays(self.texts),
            "key_texts": to_arrays(self.key_texts),
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
        self.top = PlaceList.restored(of("top"))
        self.drawn.restore(of("drawn"))
        self.counts.restore(of("counts"))
        self.texts, self.key_texts = from_arrays(of("texts")), from_arrays(of("key_texts"))
