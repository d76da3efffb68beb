"""A survey: every head's statistics over a corpus, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.measures import find
from headscope.results import HeadResult
from headscope.surveys.reducer import Reducer
from headscope.surveys.reducers import Distances, Statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headscope.statistics.distances.clusters import Clusters

COLUMNS = ["kind", "layer", "head", "measure", "value", "error", "count"]
MANY_UNKNOWN = 0.5  # share of the words
FEW_SEGMENTS = 3
MUCH_TEXT = 20_000  # characters in a text that should give more than a few segments


@dataclass(frozen=True)
class HeadPairs:
    """Mean Jensen–Shannon divergence per row between all pairs of heads, in nats."""

    heads: tuple[tuple[int, int], ...]  # (layer, head)
    values: NDArray[np.float64]  # n n

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float64]:
        """The values as an array for numpy."""
        return np.array(self.values, dtype=dtype, copy=copy)


@dataclass(frozen=True, eq=False, repr=False)
class Survey(HeadResult):
    """A survey's table and metadata, and the distances between its heads."""

    # kind, layer, head, measure, value, error, count [, low, high]
    table: pd.DataFrame  # pyright: ignore[reportIncompatibleMethodOverride]
    metadata: dict[str, Any] = field(default_factory=dict)
    pairs: dict[Kind, HeadPairs] = field(default_factory=dict)

    holds: ClassVar[tuple[type, ...]] = (HeadPairs,)

    @property
    def complete(self) -> bool:
        """Whether the whole corpus was read; a stopped run's survey is partial."""
        return bool(self.metadata.get("complete", True))

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(self.table["measure"].unique())

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(self.table["kind"].unique())

    @property
    def title(self) -> str:
        return f"Survey of {self.metadata.get('model', 'a model')}"

    def plot(
        self,
        name: str | None = None,
        kind: str | None = None,
        form: Literal["map", "scatter"] = "map",
    ) -> Figure:
        """A statistic as a layers × heads map, or as the papers' dots above each layer."""
        from headscope.figures.of_heads.by_layer import scatter_by_layer
        from headscope.figures.of_heads.layer_head_map import layer_head_map

        values = self.map(name, kind).to_numpy()
        name = name or self.measures[0]
        known = find(name)
        label = f"{name} ({known.unit})" if known else name
        if form == "map":
            title = f"{name}, {self.metadata.get('model', '')}".rstrip(", ")
            return layer_head_map(values, title, label)
        reference = None
        if name.startswith("entropy") and "entropy_uniform" in self.statistics:
            reference = {"uniform attention": float(np.nanmean(self.map("entropy_uniform", kind)))}
        return scatter_by_layer(values, label, reference=reference)

    def distances(self, kind: Kind | None = None) -> HeadPairs:
        """Distances between all pairs of heads, averaged over all rows of the corpus."""
        if not self.pairs:
            raise BadInput("No distances were measured; run the survey with distances=True.")
        found = kind or next(iter(self.pairs))
        if found not in self.pairs:
            raise BadInput(f"There are distances for {', '.join(self.pairs)}, not for {found}.")
        return self.pairs[found]

    def clusters(
        self, kind: Kind | None = None, *, n: int | None = None, seed: int = 0
    ) -> Clusters:
        """Heads in two dimensions and in `n` groups, by similarity of attention."""
        from headscope.statistics.distances.clusters import cluster

        pairs = self.distances(kind)
        return cluster(pairs.heads, pairs.values, n=n, seed=seed)


def survey_of(reducers: Sequence[Reducer], metadata: dict[str, Any]) -> Survey:
    """The table of the reducers' results so far."""
    columns = [one.finish() for one in reducers if isinstance(one, Statistics)]
    frames = [pd.DataFrame(found) for found in columns if found]
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)
    pairs: dict[Kind, HeadPairs] = {
        kind: HeadPairs(*found)
        for one in reducers
        if isinstance(one, Distances)
        for kind, found in one.finish().items()
    }
    return Survey(table, metadata, pairs)


def account(about: Mapping[str, Any]) -> list[str]:
    """Sentences on what a survey read, cut and left out, from its metadata."""
    segments, documents = about["segments"], about.get("documents", about["segments"])
    tokens = about["tokens"]
    said = [f"{documents:,} documents gave {segments:,} segments, {tokens:,} tokens in all."]
    characters, unread = about.get("characters", 0), about.get("unread characters", 0)
    if about["truncated"]:
        longest = about["settings"]["max_tokens"]
        whose = "the model reads" if about.get("cut by model", True) else "was asked for"
        cut = about["truncated"]
        said.append(
            f"{cut:,} {'text was' if cut == 1 else 'texts were'} longer than {whose} ({longest} "
            f"tokens) and cut: {unread / max(characters, 1):.0%} of the text was not read."
        )
    if (share := about.get("unknown words", 0)) > MANY_UNKNOWN:
        said.append(f"The model does not know {share:.0%} of the words.")
    if about["left out"]:
        said.append(about["left out"])
    if segments <= FEW_SEGMENTS and characters > MUCH_TEXT:
        said.append(
            f"So much text in {segments} segments is more than was read: if the file holds several "
            "texts, say so with --layout lines or paragraphs, or --segments pairs."
        )
    elif unread > characters / 2:
        said.append("Most of the text was not read; --segments windows reads all of it.")
    return said
