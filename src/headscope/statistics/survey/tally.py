"""A tally: everything a survey has counted so far, of a size that does not grow with the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Kind
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.distances.head_distances import HeadDistances
from headscope.statistics.places.gather import applying as applying_to
from headscope.statistics.places.places import Places
from headscope.statistics.places.settings import PlaceSettings
from headscope.statistics.statistic import Statistic
from headscope.statistics.survey.bootstrap import BootstrapAccumulator

Heads = tuple[tuple[int, int], ...]  # (layer, head)


class Read(Protocol):
    """How much was read."""

    @property
    def documents(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def truncated(self) -> int: ...
    @property
    def characters(self) -> int: ...
    @property
    def unread_characters(self) -> int: ...


READ = ("documents", "tokens", "truncated", "characters", "unread_characters")


class Tally:
    """Accumulators by kind and statistic, distances between heads, and how much was read."""

    def __init__(
        self,
        statistics: Sequence[Statistic],
        replicates: int = 0,
        seed: int = 0,
        places: PlaceSettings | None = None,
    ) -> None:
        self._statistics = {statistic.name: statistic for statistic in statistics}
        self._replicates = replicates
        self._seed = seed
        self.heads: dict[Kind, Heads] = {}
        self.parts: dict[tuple[Kind, str], Accumulator] = {}
        self.distances: dict[Kind, HeadDistances] = {}
        self.places: dict[Kind, Places] = {}
        self._places = places
        self.documents = 0
        self.tokens = 0
        self.truncated = 0
        self.characters = 0
        self.unread_characters = 0

    def add(
        self,
        kind: Kind,
        statistic: Statistic,
        heads: Heads,
        documents: NDArray[np.int64],
        values: Tensor,
    ) -> None:
        """Take in one statistic's values (documents × heads …) of a batch."""
        self.heads.setdefault(kind, heads)
        self.part(kind, statistic.name).add(documents, values.double().cpu().numpy())

    def add_distances(self, kind: Kind, heads: Heads, sums: NDArray[np.float64], rows: int) -> None:
        self.heads.setdefault(kind, heads)
        self.distances.setdefault(kind, HeadDistances(len(heads))).add(sums, rows)

    def part(self, kind: Kind, name: str) -> Accumulator:
        if (kind, name) not in self.parts:
            heads = len(self.heads[kind])
            inner = self._statistics[name].accumulator(heads)
            if self._replicates:
                inner = BootstrapAccumulator(inner, heads, self._replicates, self._seed)
            self.parts[kind, name] = inner
        return self.parts[kind, name]

    def places_of(self, kind: Kind, vocabulary: int) -> Places:
        assert self._places is not None
        if kind not in self.places:
            applying = applying_to(self._places, kind, kind == "decoder")
            names = tuple(statistic.name for statistic in applying)
            self.places[kind] = Places(names, len(self.heads[kind]), vocabulary, self._places)
        return self.places[kind]

    def add_read(self, read: Read) -> None:
        """Count what a batch held."""
        for name in READ:
            setattr(self, name, getattr(self, name) + getattr(read, name))

    def merge(self, other: Tally) -> None:
        """Take in another tally; for the same bits, merge in the same order."""
        for kind, heads in other.heads.items():
            self.heads.setdefault(kind, heads)
        for (kind, name), part in other.parts.items():
            self.part(kind, name).merge(part)
        for kind, distances in other.distances.items():
            mine = self.distances.setdefault(kind, HeadDistances(len(self.heads[kind])))
            mine.merge(distances)
        for kind, places in other.places.items():
            if kind in self.places:
                self.places[kind].merge(places)
            else:
                self.places[kind] = places.copied()
        self.add_read(other)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The whole state as named arrays."""
        kept: dict[str, NDArray[np.generic]] = {
            "read": np.array([getattr(self, name) for name in READ], dtype=np.int64)
        }
        for kind, heads in self.heads.items():
            kept[f"heads/{kind}"] = np.array(heads, dtype=np.int64)
        for (kind, name), part in self.parts.items():
            for key, array in part.arrays().items():
                kept[f"part/{kind}/{name}/{key}"] = array
        for kind, distances in self.distances.items():
            for key, array in distances.arrays().items():
                kept[f"distances/{kind}/{key}"] = array
        for kind, places in self.places.items():
            for key, array in places.arrays().items():
                kept[f"places/{kind}/{key}"] = array
        return kept

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Go on from a kept state."""
        for name, number in zip(READ, arrays["read"].tolist(), strict=True):
            setattr(self, name, int(number))
        grouped: dict[tuple[str, ...], dict[str, NDArray[np.generic]]] = {}
        for name, array in arrays.items():
            *path, key = name.split("/")
            grouped.setdefault(tuple(path), {})[key] = array
        kind: Kind
        for kind, array in grouped.get(("heads",), {}).items():  # pyright: ignore
            self.heads[kind] = tuple((int(layer), int(head)) for layer, head in array.tolist())
        for path, state in grouped.items():
            if path[:1] == ("part",):
                self.part(path[1], path[2]).restore(state)  # pyright: ignore
            elif path[:1] == ("distances",):
                kind = path[1]  # pyright: ignore
                self.distances[kind] = HeadDistances(len(self.heads[kind]))
                self.distances[kind].restore(state)
            elif path[:1] == ("places",):
                kind = path[1]  # pyright: ignore
                self.places_of(kind, int(state["counts:total"][1])).restore(state)
