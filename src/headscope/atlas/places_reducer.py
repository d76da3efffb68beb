"""The places of an atlas as a reducer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.capture import Kind
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.named import resolve
from headscope.statistics.places.gather import TextOf, applying, gather
from headscope.statistics.places.places import Places
from headscope.statistics.places.settings import PlaceSettings, place_features
from headscope.statistics.places.texts import KeptText
from headscope.statistics.statistic import Source
from headscope.surveys.reducer import Arrays, Batch, Heads, Later
from headscope.text.tokens import continued


class PlacesReducer:
    """Places by kind of attention."""

    name = "places"
    source: Source = "corpus"
    maps: float | None = 0.0
    texts = False

    def __init__(self, settings: PlaceSettings, vocabulary: int) -> None:
        self.settings, self._vocabulary = settings, vocabulary
        self.heads: dict[Kind, Heads] = {}
        self.places: dict[Kind, Places] = {}

    def features(self, kind: Kind, causal: bool) -> Sequence[Feature]:
        from dataclasses import replace

        judged = tuple(applying(self.settings, kind, causal))
        return [resolve(f) for f in place_features(replace(self.settings, statistics=judged))]

    def described(self) -> dict[str, Any]:
        return self.settings.described

    def fresh(self) -> PlacesReducer:
        return PlacesReducer(self.settings, self._vocabulary)

    def add(self, batch: Batch) -> Later:
        def later() -> None:
            assert batch.maps is not None
            places = self._of(batch.kind, batch.heads)
            other = _text_of(batch.keys) if batch.kind == "cross" else None
            of = _text_of(batch.queries)
            gather(places, batch.rows, batch.grid, batch.maps.calls, of, other)

        return later

    def _of(self, kind: Kind, heads: Heads) -> Places:
        self.heads.setdefault(kind, heads)
        if kind not in self.places:
            names = tuple(one.name for one in applying(self.settings, kind, kind == "decoder"))
            self.places[kind] = Places(names, len(heads), self._vocabulary, self.settings)
        return self.places[kind]

    def merge(self, other: PlacesReducer) -> None:
        for kind, places in other.places.items():
            places.settle()
            self._of(kind, other.heads[kind]).merge(places)

    def state(self) -> Arrays:
        kept: Arrays = {}
        for kind, places in self.places.items():
            places.settle()
            kept[f"{kind}/heads"] = np.array(self.heads[kind])
            kept |= {f"{kind}/{name}": array for name, array in places.arrays().items()}
        return kept

    def restore(self, arrays: Arrays) -> None:
        kinds: list[Any] = [name.partition("/")[0] for name in arrays if name.endswith("/heads")]
        for kind in kinds:
            heads = tuple((a, b) for a, b in arrays[f"{kind}/heads"].tolist())
            own = {n.partition("/")[2]: a for n, a in arrays.items() if n.startswith(f"{kind}/")}
            self._of(kind, heads).restore(own)

    def finish(self) -> dict[Kind, Places]:
        for places in self.places.values():
            places.settle()
        return self.places


def _text_of(side: Mapping[str, NDArray[Any]]) -> TextOf:
    continues = continued(side["words"])

    def text(row: int) -> KeptText:
        to = int((side["classes"][row] >= 0).sum())
        return KeptText(
            side["ids"][row, :to].astype(np.int32),
            side["segments"][row, :to].copy(),
            side["classes"][row, :to].copy(),
            continues[row, :to].copy(),
        )

    return text
