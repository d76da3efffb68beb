"""A reducer: the result of a pass over a corpus, in state that does not grow with the corpus.

Statistics, distances between heads, pattern scores and an atlas's examples are reducers. A survey,
an atlas and `hs.patterns` differ only in the reducers that they pass to `surveys.run.over_corpus`.

The pass works portion by portion. Each portion goes into a new copy of every reducer, in this
process or another; the copies' states are merged in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from numpy.typing import NDArray

from headscope.capture import Kind
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Source

if TYPE_CHECKING:
    from headscope.statistics.distances.map_keeper import KeptMaps

Arrays = dict[str, NDArray[Any]]
Heads = tuple[tuple[int, int], ...]  # (layer, head)
Later = Callable[[], None]


@dataclass(frozen=True)
class Batch:
    """One batch of documents under one kind of attention."""

    rows: Rows  # the requested features, b H t each
    grid: Grid  # the tokens, on the model's device
    queries: Mapping[str, NDArray[Any]]
    """The queries' tokens in main memory, b t each: ids, classes, segments, words, stops.

    Rows are padded on the right; `grid.real_queries` says which positions hold tokens.
    """
    keys: Mapping[str, NDArray[Any]]  # the same for the keys: another text for cross attention
    maps: KeptMaps | None = None  # if a reducer needs maps

    @property
    def kind(self) -> Kind:
        return self.grid.kind

    @property
    def heads(self) -> Heads:
        """Layer and head of each of the H heads."""
        return self.rows.heads

    @property
    def documents(self) -> NDArray[Any]:
        """b: the number of each document in its corpus."""
        return self.grid.documents


class Reducer(Protocol):
    """Adds batches (`add`), merges others with the same settings (`merge`), gives a result."""

    @property
    def name(self) -> str:
        """A unique name in the pass, the key of its arrays."""
        ...

    @property
    def source(self) -> Source:
        """The input of `add`: attention on the corpus, the absolute gradient of the loss with
        respect to it, or attention on repeated random tokens."""
        ...

    @property
    def maps(self) -> float | None:
        """The share of queries whose whole rows are compared; None if it needs no maps.

        With 0 the batch can compute any row (`KeptMaps.calls`), and no row is drawn.
        """
        ...

    @property
    def texts(self) -> bool:
        """Whether it uses `grid.tokens`, the tokens as text, which are slow to send."""
        ...

    def features(self, kind: Kind, causal: bool) -> Sequence[Feature]:
        """The row features that `add` needs; none for attention it does not measure."""
        ...

    def described(self) -> dict[str, Any]:
        """The settings that decide its result, as JSON: resuming with others raises an error."""
        ...

    def fresh(self) -> Self:
        """An empty reducer of the same settings."""
        ...

    def add(self, batch: Batch) -> Later | None:
        """Add a batch.

        On a GPU it may start its work and return a function for the rest, which is called once the
        GPU has the next batch, so that nothing waits for the device. On a CPU it is called at once.
        """
        ...

    def merge(self, other: Self) -> None:
        """Add another reducer with the same settings."""
        ...

    def state(self) -> Arrays:
        """The whole state, for a file or another process."""
        ...

    def restore(self, arrays: Arrays) -> None:
        """Resume from a state; called on a new reducer."""
        ...

    def finish(self) -> Any:
        """The result so far; more batches may follow."""
        ...
