"""The flow of a prediction: from words through heads to the answer, thinned to what carries it."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.circuits.logits.attribution import Attribution, PartOfLogit, place

SHARE = 0.8  # of what all edges carry, up and down together
MOST_EDGES, MOST_PARTS = 40, 14


@dataclass(frozen=True)
class Edge:
    """What one head took from one word to the answer."""

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
    shown: float  # share of the size of all edges that is drawn
    rest: float  # what parts that are not drawn add


def flow_of(attribution: Attribution) -> Flow:
    """Parts and edges, strongest first until they carry most of it."""
    parts = attribution.strongest(MOST_PARTS)
    heads = [one for one in parts if one.part == "head"]
    every: list[Edge] = []
    for one in heads:
        if place(one.kind, one.layer or 0) not in attribution.edges:
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
