"""A reducer: what a pass over a corpus is reduced to, in state that does not grow with the corpus.

Statistics, distances between heads, pattern scores and an atlas's examples are reducers. A survey,
an atlas and `hs.patterns` differ only in the reducers that they hand to `surveys.run.over_corpus`.

The pass works portion by portion. Each portion goes into a fresh copy of every reducer, in this
process or in another; the copies' states are merged in whatever order portions are done.
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

    rows: Rows  # the features asked for, b H t each
    grid: Grid  # the tokens, on the model's device
    queries: Mapping[str, NDArray[Any]]
    """The queries' tokens in main memory, b t each: ids, classes, segments, words, stops.

    Rows are padded on the right; `grid.real_queries` says which positions hold tokens.
    """
    keys: Mapping[str, NDArray[Any]]  # the same for the keys: another text for cross attention
    maps: KeptMaps | None = None  # where a reducer asks for maps

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
    """Take in batches (`add`), take in others of the same settings (`merge`), give a result."""

    @property
    def name(self) -> str:
        """Unlike that of any other reducer of the pass; its arrays are kept under it."""
        ...

    @property
    def source(self) -> Source:
        """What `add` sees: attention on the corpus, the size of the loss's gradient with respect
        to it, or attention on repeated random tokens."""
        ...

    @property
    def maps(self) -> float | None:
        """The share of queries whose whole rows it compares; None if it needs no maps.

        With 0 the batch holds what makes any row again (`KeptMaps.calls`), and no row is drawn.
        """
        ...

    @property
    def texts(self) -> bool:
        """Whether it looks at `grid.tokens`, the tokens as text, which are slow to send."""
        ...

    def features(self, kind: Kind, causal: bool) -> Sequence[Feature]:
        """The row features that `add` looks up; none for attention it does not measure."""
        ...

    def described(self) -> dict[str, Any]:
        """The settings that decide its result, as JSON: a run with others is refused."""
        ...

    def fresh(self) -> Self:
        """An empty reducer of the same settings."""
        ...

    def add(self, batch: Batch) -> Later | None:
        """Take in a batch.

        On a GPU it may start its work there and return the rest, which is called once the GPU has
        the next batch: nothing waits for the device meanwhile. Elsewhere it is called at once.
        """
        ...

    def merge(self, other: Self) -> None:
        """Take in what another reducer of the same settings has seen."""
        ...

    def state(self) -> Arrays:
        """Everything it holds, to be kept on disk or sent to another process."""
        ...

    def restore(self, arrays: Arrays) -> None:
        """Resume from a state; called on a fresh reducer."""
        ...

    def finish(self) -> Any:
        """Its result, from what it has taken in so far; it may go on taking in more."""
        ...
