"""`hs.circuits.trace`: a prediction followed backwards, from head to key to writer to word."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headscope.arguments import need_count, need_path, need_scope
from headscope.circuits.drawn import drawn
from headscope.circuits.logits.attribute import attribute
from headscope.circuits.scores.result import Score
from headscope.circuits.scores.score import score
from headscope.circuits.scores.writers import Side, Writer
from headscope.circuits.unrolled import unrolled
from headscope.errors import BadInput
from headscope.files import read_json, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headscope.circuits.logits.target import Target
    from headscope.reading import Scope

FORMAT = "headscope trace 1"
Link = Literal["logit", "query", "key", "attends"]


@dataclass(frozen=True)
class Node:
    """The answer, a writer at a position, or a word."""

    name: str  # "answer", "18-6 at 12", "MLP 3 at 4", "word 4"
    part: str  # answer, head, mlp, embedding, …, word
    position: int | None
    token: str
    layer: int | None = None
    head: int | None = None
    kind: str | None = None  # of a head


@dataclass(frozen=True)
class Step:
    """An arrow from a writer to what it wrote into.

    `value` is a part of the logit or of the score relative to the mean key, and `share` of that
    whole; for `attends` both are the attention weight.
    """

    source: str
    target: str
    link: Link
    value: float
    share: float


@dataclass(frozen=True)
class Traced:
    """A small graph; `json` and `networkx` export it, and `hs.open` opens what `save` writes."""

    model: str
    tokens: tuple[str, ...]
    answer: str
    nodes: tuple[Node, ...] = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)

    def json(self) -> dict[str, Any]:
        """Nodes and links as plain data, as networkx's node_link_graph reads them."""
        return {
            "format": FORMAT,
            "directed": True,
            "multigraph": True,
            "graph": {"model": self.model, "tokens": list(self.tokens), "answer": self.answer},
            "nodes": [{"id": one.name, **asdict(one)} for one in self.nodes],
            "links": [{**asdict(one), "key": one.link} for one in self.steps],
        }

    def networkx(self) -> Any:
        """A networkx.MultiDiGraph, where networkx is installed."""
        try:
            import networkx
        except ImportError as error:
            raise BadInput(
                "networkx is not installed; run 'pip install networkx', or use .json() instead."
            ) from error
        graph = networkx.MultiDiGraph(**self.json()["graph"])
        for one in self.nodes:
            graph.add_node(one.name, **asdict(one))
        for one in self.steps:
            graph.add_edge(one.source, one.target, key=one.link, **asdict(one))
        return graph

    def plot(self) -> Figure:
        """The trace as a graph: one or two columns a token, layers from below; width is a share."""
        return drawn(self.json()).figure()

    def save(self, path: str | Path) -> None:
        """Write the graph as .json."""
        path = Path(path)
        if path.suffix.lower() != ".json":
            raise BadInput(
                f"A trace is written as .json, not as {path.name}; pages and pictures are "
                "written by hs.graph_view(trace).save."
            )
        write_json(self.json(), path)

    @classmethod
    def load(cls, path: str | Path) -> Traced:
        """The graph in a .json file that `save` wrote."""
        try:
            found = read_json(FORMAT, need_path(path))
            about, nodes, links = found["graph"], found["nodes"], found["links"]
            return cls(
                about["model"], tuple(about["tokens"]), about["answer"],
                tuple(Node(**_without(one, "id")) for one in nodes),
                tuple(Step(**_without(one, "key")) for one in links),
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError):
            raise BadInput(f"{path} is not a trace; write one with Traced.save.") from None

    def __str__(self) -> str:
        """The trace as indented lines, the answer first."""
        return "\n".join(self._lines("answer", 0, set()))

    def _lines(self, name: str, depth: int, above: set[str]) -> list[str]:
        node = next(one for one in self.nodes if one.name == name)
        said = [f"{node.name} {node.token!r}"] if not depth else []
        for step in (one for one in self.steps if one.target == name):
            source = next(one for one in self.nodes if one.name == step.source)
            what = {"logit": "written by", "attends": "attends to"}.get(
                step.link, f"{step.link} written by"
            )
            said.append(
                f"{'  ' * (depth + 1)}{what} {source.name} {source.token!r}"
                f"  {step.value:+.2f} ({step.share:.0%})"
            )
            if step.source not in above:
                said += self._lines(step.source, depth + 1, {*above, name})
        return said


def trace(
    scope: Scope,
    text: str,
    *,
    target: Target = None,
    position: int | None = None,
    most_heads: int = 2,
    writers: int = 2,
    depth: int = 2,
) -> Traced:
    """Follow a prediction backwards: answer ← head ← the key it read ← who wrote that key.

    Parameters
    ----------
    scope
        A model that predicts words, from `hs.load`.
    text
        What the model reads.
    target, position
        The answer to follow, as in `hs.attribute`; the likeliest by default.
    most_heads
        How many heads are followed from the answer: those that raise it most.
    writers
        How many writers are named for each query and each key.
    depth
        How many times a head among the writers is followed in turn.

    Returns
    -------
    Traced
        `nodes` and `steps`; `json()`, `networkx()` and `save("trace.json")`. Printed, it is a
        list of steps.

    Examples
    --------
    >>> import headscope as hs
    >>> traced = hs.circuits.trace(hs.load(), "The cat [MASK] on the mat.")
    >>> print(traced)  # doctest: +SKIP
    """
    need_scope(scope)
    for name, value in (("most_heads", most_heads), ("writers", writers), ("depth", depth)):
        need_count(value, name)
    scope = unrolled(scope)
    if scope.encoder_decoder:
        raise BadInput(
            f"{scope.name} has an encoder and a decoder, and a trace needs a single "
            "stack; use hs.circuits.score."
        )
    found = attribute(scope, text, target=target, position=position, tokens=0, lens=False)
    if found.position is None:
        raise BadInput(
            "This model gives one answer for the whole text, but a trace starts at one "
            "token's prediction; use a model that predicts tokens."
        )
    graph = _Graph(scope, text, found.query, writers)
    graph.node(Node("answer", "answer", found.position, found.target[0]))
    raising = [one for one in found.strongest(part="head", n=len(found.parts)) if one.value > 0]
    for one in raising[:most_heads]:
        writer = Writer("head", one.kind, one.layer, one.head)
        source = graph.writer(writer, found.position)
        graph.steps.append(Step(source, "answer", "logit", one.value, one.value / found.value))
        by_key = found.by_key(one.layer or 0, one.head or 0, one.kind)
        graph.follow(writer, found.position, depth, key=int(np.argmax(by_key)))
    return Traced(
        scope.name, found.query, found.target[0], tuple(graph.nodes.values()), tuple(graph.steps)
    )


class _Graph:
    def __init__(self, scope: Scope, text: str, tokens: tuple[str, ...], writers: int) -> None:
        self.scope, self.text, self.tokens, self.writers = scope, text, tokens, writers
        self.nodes: dict[str, Node] = {}
        self.steps: list[Step] = []
        self._followed: set[tuple[Writer, int]] = set()

    def node(self, node: Node) -> str:
        self.nodes.setdefault(node.name, node)
        return node.name

    def writer(self, writer: Writer, position: int) -> str:
        name = f"{writer.name} at {position}"
        token = self.tokens[position]
        kind = writer.kind if writer.part == "head" else None
        return self.node(Node(name, writer.part, position, token, writer.layer, writer.head, kind))

    def follow(self, writer: Writer, query: int, depth: int, key: int | None = None) -> None:
        """What a head attended to from a query (by default its strongest key), and why."""
        if (writer, query) in self._followed:
            return
        self._followed.add((writer, query))
        assert writer.layer is not None and writer.head is not None
        if key is None:
            row = score(self.scope, self.text, writer.layer, writer.head, query, kind=writer.kind)
            key = int(row.keys[row.weights.argmax()])
        found = score(
            self.scope, self.text, writer.layer, writer.head, query, key,
            relative_to="mean" if query or key else None, kind=writer.kind,
        )  # fmt: skip
        target = self.writer(writer, query)
        word = self.node(Node(f"word {key}", "word", key, self.tokens[key]))
        self.steps.append(Step(word, target, "attends", found.weight, found.weight))
        self._side(found, "query", query, target, depth)
        self._side(found, "key", key, target, depth)

    def _side(self, found: Score, side: Side, position: int, target: str, depth: int) -> None:
        writers = found.query_writers if side == "query" else found.key_writers
        parts = found.parts.sum(1 if side == "query" else 0)
        for at in np.argsort(-parts)[: self.writers]:
            if parts[at] <= 0:
                continue
            source = self.writer(writers[at], position)
            share = float(parts[at] / parts.sum()) if parts.sum() else float("nan")
            self.steps.append(Step(source, target, side, float(parts[at]), share))
            if writers[at].part == "head" and depth > 1:
                self.follow(writers[at], position, depth - 1)


def _without(held: dict[str, Any], name: str) -> dict[str, Any]:
    """A node or link without the name that networkx gives it."""
    return {key: value for key, value in held.items() if key != name}
