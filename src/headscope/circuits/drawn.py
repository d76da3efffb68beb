"""A graph of heads as a picture: where each node stands, for page and paper alike.

The JSON of a trace (`Traced.json`) and that of a circuit (`Edges.json`) become one drawing. A trace
has a column or two per token; a circuit has a row per layer. Layers rise from the bottom.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headscope.errors import BadInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 1.8  # from one column of a trace to the next, in nodes of a circuit
RIGHT = ("head", "word", "answer")
LINKS = 40  # of a circuit, drawn by default


@dataclass(frozen=True)
class DrawnNode:
    name: str
    part: str  # answer, head, mlp, embedding, word, logits, …
    x: float  # in nodes
    y: float  # in layers
    token: str = ""
    position: int | None = None
    layer: int | None = None
    head: int | None = None
    kind: str | None = None

    @property
    def label(self) -> str:
        return f"{self.name} “{self.token.strip()}”" if self.token else self.name


@dataclass(frozen=True)
class DrawnLink:
    """An arrow; `value` makes its width and its sign the colour, `text` says what it is."""

    source: str
    target: str
    through: str  # such as "q" or "k v"; empty for inputs without a name
    value: float
    text: str


@dataclass(frozen=True)
class DrawnGraph:
    title: str
    caption: str
    nodes: tuple[DrawnNode, ...]
    links: tuple[DrawnLink, ...]

    def figure(self) -> Figure:
        from headscope.figures.of_circuits import edge_graph

        shown = {one.name: one.label for one in self.nodes}
        return edge_graph(
            [(shown[one.source], shown[one.target], one.through, one.value) for one in self.links],
            {one.label: (one.x, one.y) for one in self.nodes},
            title=self.title,
            caption=self.caption,
        )


def drawn(made: Mapping[str, Any], n: int = LINKS) -> DrawnGraph:
    """The drawing of what `Traced.json` or `Edges.json` gave; of a circuit its `n` top edges."""
    if "links" in made and "answer" in (made.get("graph") or {}):
        return _of_trace(made)
    if "edges" in made and "faithfulness" in made:
        return _of_circuit(made, n)
    raise BadInput(
        "This JSON is neither a trace nor a circuit; hs.circuits.trace(…).save and "
        "hs.circuits.edges(…).to_json write them."
    )


def _of_trace(made: Mapping[str, Any]) -> DrawnGraph:
    nodes, about = made["nodes"], made["graph"]
    top = 1 + max((one["layer"] or 0 for one in nodes), default=0)
    # heads stand to the right of other writers, so that an arrow seldom runs under a name
    sides = sorted({(one["position"] or 0, one["part"] in RIGHT) for one in nodes})
    taken: set[tuple[float, float]] = set()
    found: list[DrawnNode] = []
    for one in nodes:
        x = WIDE * sides.index((one["position"] or 0, one["part"] in RIGHT))
        y = _traced_height(one, top)
        while (x, y) in taken:
            y += 0.25
        taken.add((x, y))
        fields = {name: one.get(name) for name in ("position", "layer", "head", "kind")}
        found.append(DrawnNode(one["id"], one["part"], x, y, one["token"], **fields))
    through = {"query": "q", "key": "k"}
    said = {
        "logit": "of the answer’s logit",
        "attends": "attention weight",
        "query": "of the score, by the query",
        "key": "of the score, by the key",
    }
    links = [
        DrawnLink(
            one["source"], one["target"], through.get(one["link"], ""), one["share"],
            said[one["link"]],
        )
        for one in made["links"]
    ]  # fmt: skip
    return DrawnGraph(
        f"Who wrote “{about['answer'].strip()}”",
        f"{about['model']} · from words to heads: attention; q, k: who wrote what matched",
        tuple(found),
        tuple(links),
    )


def _traced_height(node: Mapping[str, Any], top: int) -> float:
    if node["layer"] is not None:
        return node["layer"] + 0.5 * (node["part"] == "mlp")
    return {"answer": float(top), "word": -2.0}.get(node["part"], -1.0)


def _of_circuit(made: Mapping[str, Any], n: int) -> DrawnGraph:
    shown = made["edges"][:n]
    together: dict[tuple[str, str], tuple[list[str], float]] = {}
    for one in shown:
        through, score = together.get((one["source"], one["target"]), ([], 0.0))
        through.append(one["through"])
        together[one["source"], one["target"]] = through, score + one["score"]
    names = dict.fromkeys(name for ends in together for name in ends)
    last = max((_numbers(name)[0] for name in names if _numbers(name)), default=0)
    places = _by_layer(list(names), made.get("layers", last + 1))
    nodes = tuple(
        DrawnNode(
            name, _part(name), *places[name],
            layer=_numbers(name)[0] if _numbers(name) else None,
            head=_numbers(name)[1] if _part(name) == "head" else None,
        )
        for name in names
    )  # fmt: skip
    links = tuple(
        DrawnLink(*ends, " ".join(sorted(through)), score, "score of the edge")
        for ends, (through, score) in together.items()
    )
    pairs = f" over {made['pairs']} pairs" if "pairs" in made else ""
    caption = (
        f"{len(shown)} of {len(made['edges']):,} edges; the circuit brings back "
        f"{made['faithfulness']:.2f} of clean − corrupted{pairs}."
    )
    return DrawnGraph(f"{made['task']}: the circuit of {made['model']}", caption, nodes, links)


def _part(name: str) -> str:
    if name in ("embedding", "logits"):
        return name
    return "mlp" if name.startswith("MLP") else "head"


def _numbers(name: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", name)]


def _by_layer(names: Sequence[str], layers: int) -> dict[str, tuple[float, float]]:
    """x and y of every node: heads from the left, MLPs to their right and half a layer up."""
    rows: dict[float, list[str]] = {}
    for name in names:
        rows.setdefault(_height(name, layers), []).append(name)
    widest = max((len(row) for row in rows.values()), default=1)
    return {
        name: ((widest - len(row)) / 2 + at, y)
        for y, row in rows.items()
        for at, name in enumerate(sorted(row, key=_numbers))
    }


def _height(name: str, layers: int) -> float:
    fixed = {"embedding": -1.0, "logits": float(layers)}
    return fixed.get(
        name, _numbers(name)[0] + 0.5 * (_part(name) == "mlp") if _numbers(name) else 0
    )
