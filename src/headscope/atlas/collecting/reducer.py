"""The atlas's reducer: examples and counts of every kind of attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.atlas.collecting.counts import Counts
from headscope.atlas.collecting.examples import Examples
from headscope.atlas.collecting.settings import ExampleSettings
from headscope.capture import Kind
from headscope.statistics.features.feature import Feature, resolve

if TYPE_CHECKING:
    from headscope.surveys.reducer import Batch, Heads

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Collected:
    """What was collected of one kind of attention."""

    heads: Heads
    examples: Examples
    counts: Counts


class AtlasReducer:
    """Examples and counts, beside the statistics and distances that an atlas holds too."""

    name = "atlas"
    source: Literal["corpus"] = "corpus"
    maps: float | None = 0.0  # it computes single rows again and compares no heads
    texts = False

    def __init__(
        self, settings: ExampleSettings, vocabulary: int, ahead: AtlasReducer | None = None
    ) -> None:
        self.settings, self._vocabulary = settings, vocabulary
        self._kinds: dict[Kind, Collected] = {}
        self._ahead = {} if ahead is None else ahead._kinds

    def features(self, kind: Kind, causal: bool) -> Sequence[Feature]:
        return [resolve(feature) for feature in self.settings.features(kind)]

    def described(self) -> dict[str, Any]:
        return self.settings.described

    def fresh(self) -> AtlasReducer:
        """An empty reducer, to be merged with this one or with its later state."""
        return AtlasReducer(self.settings, self._vocabulary, ahead=self)

    def add(self, batch: Batch) -> None:
        of_kind = self._of(batch.kind, batch.heads)
        of_kind.examples.add(batch)
        of_kind.counts.add(batch.rows, batch.grid)

    def merge(self, other: AtlasReducer) -> None:
        for kind, theirs in other._kinds.items():
            mine = self._of(kind, theirs.heads)
            mine.examples.merge(theirs.examples)
            mine.counts.merge(theirs.counts)

    def _of(self, kind: Kind, heads: Heads) -> Collected:
        if kind not in self._kinds:
            settings = self.settings
            ahead = self._ahead.get(kind)
            examples = Examples(kind, len(heads), settings, ahead and ahead.examples)
            counts = Counts(len(heads), self._vocabulary, settings.pairs, settings.text)
            self._kinds[kind] = Collected(heads, examples, counts)
        return self._kinds[kind]

    def state(self) -> Arrays:
        found: Arrays = {}
        for kind, of_kind in self._kinds.items():
            parts = {
                "examples": of_kind.examples.arrays(),
                "counts": of_kind.counts.arrays(),
                "heads": {"": np.array(of_kind.heads, dtype=np.int64)},
            }
            for part, arrays in parts.items():
                found |= {f"{kind}/{part}/{name}": array for name, array in arrays.items()}
        return found

    def restore(self, arrays: Arrays) -> None:
        parts: dict[Any, dict[str, Arrays]] = {}
        for path, array in arrays.items():
            kind, part, name = path.split("/")
            parts.setdefault(kind, {}).setdefault(part, {})[name] = array
        for kind, found in parts.items():
            of_kind = self._of(kind, tuple((int(a), int(b)) for a, b in found["heads"][""]))
            of_kind.examples.restore(found["examples"])
            of_kind.counts.restore(found["counts"])

    def finish(self) -> dict[Kind, Collected]:
        for of_kind in self._kinds.values():
            of_kind.counts.prune(crowded=0)
        return self._kinds
