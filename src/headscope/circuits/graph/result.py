"""A model's edges with their scores, the circuit they form and its faithfulness."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.circuits.drawn import LINKS, drawn
from headscope.circuits.graph.nodes import Node, StreamGraph
from headscope.circuits.patching.result import Floats, intervals_of, share_of
from headscope.files import write_json
from headscope.results import HeadResult, tidy
from headscope.statistics.significance import rank_interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FORMAT = "headscope circuit 1"


@dataclass(frozen=True, eq=False, repr=False)
class Edges(HeadResult):
    """Scores of all edges, and a small circuit that restores most of the answer.

    Faithfulness is the share of clean − corrupted that is restored when only a circuit's edges are
    clean: 0 as on the corrupted prompt, 1 as on the clean one.
    """

    model: str
    task: str
    kind: str
    graph: StreamGraph
    scores: Floats  # readers × writers
    sizes: tuple[int, ...]  # numbers of edges that were tried
    kept: tuple[int, ...]  # edges on a path from the embedding to the logits
    effects: Floats  # sizes × pairs, change of the metric
    whole: Floats  # pairs, clean − corrupted
    chosen: int  # which of the sizes is the circuit's
    circuit: NDArray[np.bool_]  # readers × writers
    complement: Floats  # pairs, with the circuit's edges corrupted and all others clean
    random: Floats  # draws × pairs, for circuits of as many random edges
    patched: tuple[tuple[int, int], ...]  # (reader, writer) of edges patched one by one
    exact: Floats  # their effects, averaged over pairs
    seed: int

    holds: ClassVar[tuple[type, ...]] = (StreamGraph,)

    def __repr__(self) -> str:
        return (
            f"<Edges {self.task} in {self.model}: {int(self.circuit.sum()):,} of "
            f"{int(self.graph.possible.sum()):,} edges bring back {self.faithfulness:.2f}>"
        )

    @property
    def title(self) -> str:
        return f"{self.task}: the circuit of {self.model}"

    @property
    def faithfulness(self) -> float:
        """Of the circuit."""
        return float(share_of(self.effects, self.whole)[self.chosen])

    @property
    def completeness(self) -> float:
        """Faithfulness of all edges except the circuit's: near 0 if the circuit is complete."""
        return float(share_of(self.complement[None], self.whole)[0])

    @property
    def of_random(self) -> Floats:
        """Faithfulness of random circuits of the same size."""
        return share_of(self.random, self.whole)

    @property
    def curve(self) -> pd.DataFrame:
        """A row per size: edges kept, their share of all, faithfulness and its interval."""
        import pandas as pd

        found = intervals_of(self.effects, self.whole, self.seed)
        share = np.array(self.sizes) / self.graph.possible.sum()
        return pd.DataFrame(
            {"edges": self.sizes, "connected": self.kept, "share": share,
             "faithfulness": share_of(self.effects, self.whole),
             "low": found.low, "high": found.high}
        )  # fmt: skip

    @property
    def cpr(self) -> float:
        """Area under the curve of faithfulness over the share of edges (MIB): higher is better."""
        return self._area(share_of(self.effects, self.whole))

    @property
    def cmd(self) -> float:
        """Area between that curve and 1 (MIB): 0 is best."""
        return self._area(np.abs(1 - share_of(self.effects, self.whole)))

    def _area(self, values: Floats) -> float:
        share = np.array(self.sizes) / self.graph.possible.sum()
        return (
            float(np.trapezoid(values, share) / (share[-1] - share[0]))
            if len(share) > 1
            else (float(values[0]))
        )

    @property
    def edges(self) -> pd.DataFrame:
        """Every edge by the size of its score; `exact` is the effect of patching it alone."""
        import pandas as pd

        readers, writers = self.graph.readers, self.graph.writers
        reader, writer = np.nonzero(self.graph.possible)
        exact = np.full(self.scores.shape, np.nan)
        for at, value in zip(self.patched, self.exact, strict=True):
            exact[at] = value
        frame = pd.DataFrame(
            {
                "source": [writers[at].name for at in writer],
                "target": [_target(self.graph.listeners(readers[at])) for at in reader],
                "through": [readers[at].through for at in reader],
                "score": self.scores[reader, writer],
                "exact": exact[reader, writer],
                "in_circuit": self.circuit[reader, writer],
            }
        )
        order = np.argsort(-np.abs(frame["score"].to_numpy(float)), kind="stable")
        return frame.iloc[order].reset_index(drop=True)

    @property
    def agreement(self) -> float:
        """Spearman's rank correlation of scores and exact effects, over the patched edges."""
        from headscope.tasks.metrics import rank_correlation

        if len(self.patched) < 3:
            return float("nan")
        return rank_correlation(np.array([self.scores[at] for at in self.patched]), self.exact)

    @property
    def agreement_interval(self) -> tuple[float, float]:
        """The 95 % interval of `agreement` over the patched edges; NaN if they are too few."""
        return rank_interval(self.agreement, len(self.patched))

    def beside(self, *others: Edges) -> pd.DataFrame:
        """A row per result, this one first: size, faithfulness and overlap with this one.

        Parameters
        ----------
        others
            Circuits of other models, checkpoints or tasks.

        Returns
        -------
        pandas.DataFrame
            `shared` is the overlap with this circuit (edges in both over edges in either) and
            `rank` the rank correlation of all scores. Both are NaN between models whose layers
            or heads differ in number.
        """
        import pandas as pd

        return pd.DataFrame([self._row(one) for one in (self, *others)])

    def _row(self, other: Edges) -> dict[str, Any]:
        from headscope.tasks.metrics import rank_correlation

        alike, there = self.graph == other.graph, self.graph.possible
        either = (self.circuit | other.circuit).sum() if alike else 0
        return {
            "model": other.model,
            "task": other.task,
            "edges": int(other.circuit.sum()),
            "share": float(other.circuit.sum() / other.graph.possible.sum()),
            "faithfulness": other.faithfulness,
            "completeness": other.completeness,
            "cpr": other.cpr,
            "cmd": other.cmd,
            "shared": (self.circuit & other.circuit).sum() / either if either else np.nan,
            "rank": rank_correlation(self.scores[there], other.scores[there]) if alike else np.nan,
        }

    @property
    def table(self) -> pd.DataFrame:
        """Per head, the sum of the absolute scores of its edges in the circuit."""
        import pandas as pd

        size = np.abs(self.scores) * self.circuit
        heads = [
            (node.layer, node.head, float(size[:, at].sum()))
            for at, node in enumerate(self.graph.writers)
            if node.part == "head"
        ]
        frame = pd.DataFrame(heads, columns=pd.Index(["layer", "head", "value"]))
        return tidy(frame, kind=self.kind, measure="edges", count=len(self.whole))

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """Faithfulness over the number of edges, with its interval and random circuits."""
        from headscope.figures.curves import Panel, curves

        curve = self.curve
        x = curve["edges"].to_numpy(float)
        own = curve["faithfulness"].to_numpy(float)
        there = np.isfinite(curve["low"].to_numpy(float)).all()
        between = (curve["low"].to_numpy(float), curve["high"].to_numpy(float))
        null = self.of_random
        at = np.full(len(null), float(self.sizes[self.chosen]))
        panel = Panel(
            "faithfulness",
            {"strongest edges": (x, own)},
            {"strongest edges": between} if there else {},
            {"random circuits": (at, null)} if len(null) else {},
            level=1.0,
            marks=[float(self.sizes[self.chosen])],
        )
        return curves([panel], "edges kept", title=self.title, logarithmic=True, height=2.4)

    def draw(self, n: int = LINKS) -> Figure:
        """The circuit as a graph, layer over layer; its `n` edges with the largest scores."""
        return drawn(self.json(), n).figure()

    def json(self) -> dict[str, Any]:
        """The circuit as plain data: nodes, and edges with source, target, through and score."""
        shown: Any = self.edges
        links = shown[shown["in_circuit"]].drop(columns="in_circuit")
        links = links.astype(object).where(links.notna(), None)
        return {
            "format": FORMAT,
            "model": self.model,
            "task": self.task,
            "kind": self.kind,
            "layers": self.graph.layers,
            "pairs": len(self.whole),
            "faithfulness": self.faithfulness,
            "nodes": sorted({*links["source"], *links["target"]}),
            "edges": links.to_dict("records"),
        }

    def to_json(self, path: str | Path) -> None:
        """Write the circuit as JSON; `hs.graph_view` draws the file."""
        write_json(self.json(), path, indent=1)


def _target(nodes: tuple[Node, ...]) -> str:
    """A head, an MLP or the logits; of heads that share keys, the first and the last."""
    first, last = nodes[0], nodes[-1]
    return first.name if first == last else f"{first.name} to {last.name}"
