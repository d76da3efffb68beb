"""An attribution: which parts of a model made a logit, as parts that sum to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.results import HeadResult, tidy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


PartName = Literal["embedding", "head", "mlp", "bias"]
Floats = NDArray[np.float64]
BARS = 16  # bars in a figure; other parts are summed up


@dataclass(frozen=True)
class PartOfLogit:
    """One addend; `kind`, `layer` and `head` are None where the part has none."""

    part: PartName
    kind: Any  # Kind | None
    layer: int | None
    head: int | None
    value: float

    @property
    def label(self) -> str:
        where = "cross " if self.kind == "cross" else ""
        if self.part == "head":
            return f"{where}{self.layer}-{self.head}"
        return self.part if self.layer is None else f"MLP {self.layer}"


@dataclass(frozen=True)
class Tokenwise:
    """Tokens with how far something raises each of them."""

    tokens: tuple[str, ...]
    values: tuple[float, ...]


def head_name(kind: str, layer: int, head: int | None = None) -> str:
    """The key of a layer or a head: "decoder.3.1"."""
    return f"{kind}.{layer}" if head is None else f"{kind}.{layer}.{head}"


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(HeadResult):
    """A logit, or the difference of two, as a sum over heads, MLPs, embeddings and biases."""

    model: str
    query: tuple[str, ...]  # the tokens the answering stack read
    key: tuple[str, ...]  # the encoder's, where there are two stacks
    position: int | None
    target: tuple[str, ...]  # one answer, or two whose difference is explained
    value: float  # the logit, or the first minus the second
    likeliest: tuple[tuple[str, float], ...]  # the likeliest answers with probabilities
    parts: tuple[PartOfLogit, ...]
    unexplained: float  # the logit minus the sum of the parts
    note: str  # what was kept fixed
    rows_read: NDArray[np.int64]  # the queries whose attention reaches the answer
    edges: dict[str, Floats] = field(repr=False)  # "kind.layer": h r|1 s, logit by head and key
    promotes: dict[str, tuple[Tokenwise, Tokenwise]] = field(
        default_factory=dict[str, tuple[Tokenwise, Tokenwise]], repr=False
    )  # "kind.layer.head": tokens a head raises and lowers here
    lens: tuple[Tokenwise, ...] = ()  # after every layer, the likeliest tokens
    target_by_layer: tuple[float, ...] = ()  # the logit the lens gives the target

    holds: ClassVar[tuple[type, ...]] = (PartOfLogit, Tokenwise)

    @property
    def title(self) -> str:
        named = " over ".join(f"“{one.strip()}”" for one in self.target)
        return f"What made {named} ({self.value:+.2f})"

    @property
    def table(self) -> pd.DataFrame:
        """Tidy, one row per part; `part` names parts that are no head."""
        import pandas as pd

        frame = pd.DataFrame(
            {
                "kind": [one.kind for one in self.parts],
                "layer": pd.array([one.layer for one in self.parts], dtype="Int64"),
                "head": pd.array([one.head for one in self.parts], dtype="Int64"),
                "value": [one.value for one in self.parts],
                "part": [one.part for one in self.parts],
            }
        )
        heads_first: Any = frame.sort_values("head", na_position="last", kind="stable")
        return tidy(heads_first.reset_index(drop=True), measure="logit", count=1)

    @property
    def total(self) -> float:
        return sum(one.value for one in self.parts)

    def strongest(self, n: int = 10, part: PartName | None = None) -> list[PartOfLogit]:
        """The parts with the largest values, up or down, largest first."""
        chosen = [one for one in self.parts if part in (None, one.part)]
        return sorted(chosen, key=lambda one: -abs(one.value))[:n]

    def by_key(self, layer: int, head: int, kind: str | None = None) -> Floats:
        """s: from which tokens a head took what it added."""
        if kind is None and self.edges:
            kind = next((one for one in self.edges if "cross" not in one), "").split(".")[0]
        found = self.edges.get(head_name(kind or "", layer))
        if found is None or not 0 <= head < len(found):
            raise BadInput(
                f"Head {layer}-{head} of {self.model} has no sources here: there is no such "
                f"head, or its values could not be read."
            )
        return found[head].sum(axis=0)

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """The parts that pushed the answer up and down, as bars; `map` gives layers × heads."""
        from headscope.figures.attribution_bars import attribution_bars

        shown = self.strongest(BARS)
        return attribution_bars(
            [(one.label, one.part, one.value) for one in shown],
            title=self.title,
            caption=f"{self.model} · “{''.join(self.query)}”",
            rest=self.value - sum(one.value for one in shown),
        )


# The flow of a prediction from words through heads to the answer: its strongest edges.

SHARE = 0.8  # share of the absolute sum of all edges
MOST_EDGES, MOST_PARTS = 40, 14


@dataclass(frozen=True)
class Edge:
    """What one head moved from one word to the answer."""

    kind: str
    layer: int
    head: int
    key: int
    value: float


@dataclass(frozen=True)
class Flow:
    """The strongest parts, the strongest edges into them, and what was left out."""

    parts: tuple[PartOfLogit, ...]  # in the order of the model, embedding first
    edges: tuple[Edge, ...]
    shown: float  # drawn share of the absolute sum of all edges
    rest: float  # sum of the parts that are not drawn


def flow_of(attribution: Attribution) -> Flow:
    """Parts and edges, strongest first until they carry most of it."""
    parts = attribution.strongest(MOST_PARTS)
    heads = [one for one in parts if one.part == "head"]
    every: list[Edge] = []
    for one in heads:
        if head_name(one.kind, one.layer or 0) not in attribution.edges:
            continue
        by_key = attribution.by_key(one.layer or 0, one.head or 0, one.kind)
        every += [
            Edge(one.kind, one.layer or 0, one.head or 0, key, float(value))
            for key, value in enumerate(by_key)
        ]
    every.sort(key=lambda edge: -abs(edge.value))
    whole = sum(abs(edge.value) for edge in every)
    kept: list[Edge] = []
    carried = 0.0
    for edge in every[:MOST_EDGES]:
        if carried >= SHARE * whole:
            break
        kept.append(edge)
        carried += abs(edge.value)
    order = {"embedding": 0, "head": 1, "mlp": 2, "bias": 3}
    ordered = sorted(parts, key=lambda one: (one.layer or 0, order[one.part], one.head or 0))
    rest = attribution.value - sum(one.value for one in parts)
    return Flow(tuple(ordered), tuple(kept), carried / whole if whole else 0.0, rest)
