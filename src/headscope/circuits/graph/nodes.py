"""The graph of a model's stream: writers, readers, and which writer comes before which reader.

Writers are the embedding, every head and every MLP. Readers are the queries of every head, the keys
and values of every group of heads, the input of every MLP, and the output layer. The stream only
adds, so a reader's input is the sum of the writers before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Through = Literal["q", "k", "v", "mlp", "logits"]


@dataclass(frozen=True)
class Node:
    """The embedding, a head, an MLP, or the logits (the only one that writes nothing)."""

    part: Literal["embedding", "head", "mlp", "logits"]
    layer: int | None = None
    head: int | None = None

    @property
    def name(self) -> str:
        if self.part == "head":
            return f"{self.layer}-{self.head}"
        return f"MLP {self.layer}" if self.part == "mlp" else self.part


@dataclass(frozen=True)
class Reader:
    """One input that can be patched alone: of q of a head, of k or v of a group, or of an MLP."""

    through: Through
    layer: int | None = None
    group: int | None = None  # a head for q; heads that share keys and values for k and v


@dataclass(frozen=True)
class StreamGraph:
    """The writers and readers of one model."""

    layers: int
    heads: int
    groups: int
    parallel: bool  # MLPs read beside their layer's heads, not after them
    mlps: bool = True

    @property
    def writers(self) -> tuple[Node, ...]:
        """The embedding, then each layer's heads and MLP."""
        found = [Node("embedding")]
        for layer in range(self.layers):
            found += [Node("head", layer, head) for head in range(self.heads)]
            found += [Node("mlp", layer)] if self.mlps else []
        return tuple(found)

    @property
    def readers(self) -> tuple[Reader, ...]:
        """Each layer's queries, keys, values and MLP; last the output layer."""
        found: list[Reader] = []
        for layer in range(self.layers):
            found += [Reader("q", layer, head) for head in range(self.heads)]
            found += [Reader("k", layer, group) for group in range(self.groups)]
            found += [Reader("v", layer, group) for group in range(self.groups)]
            found += [Reader("mlp", layer)] if self.mlps else []
        return (*found, Reader("logits"))

    @property
    def per_layer(self) -> int:
        """Writers of one layer."""
        return self.heads + self.mlps

    def before(self, reader: Reader) -> int:
        """How many writers, in their order, come before a reader."""
        if reader.layer is None:
            return 1 + self.layers * self.per_layer
        own = self.heads if reader.through == "mlp" and not self.parallel else 0
        return 1 + reader.layer * self.per_layer + own

    @property
    def possible(self) -> NDArray[np.bool_]:
        """readers × writers: whether there is such an edge."""
        count = len(self.writers)
        return np.stack([np.arange(count) < self.before(reader) for reader in self.readers])

    def listeners(self, reader: Reader) -> tuple[Node, ...]:
        """The nodes a reader belongs to: a group's heads share keys and values."""
        if reader.through == "logits":
            return (Node("logits"),)
        if reader.through == "mlp":
            return (Node("mlp", reader.layer),)
        assert reader.group is not None
        if reader.through == "q":
            return (Node("head", reader.layer, reader.group),)
        each = self.heads // self.groups
        heads = range(reader.group * each, (reader.group + 1) * each)
        return tuple(Node("head", reader.layer, head) for head in heads)

    def connected(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The edges among `kept` that lie on a way from the embedding to the logits."""
        kept = kept & self.possible
        writers, readers = self.writers, self.readers
        at = {node: number for number, node in enumerate(writers)}
        heard = [[at[node] for node in self.listeners(one) if node in at] for one in readers]
        while True:
            speaks = np.zeros(len(writers), bool)  # has a path to the logits
            hears = np.zeros(len(writers), bool)
            hears[0] = True
            speaks[:] = kept.any(0)
            for row, own in zip(kept, heard, strict=True):
                hears[own] |= row.any()
            alive = kept & (speaks & hears)[None, :]
            for number, own in enumerate(heard):
                if own and not speaks[own].any():
                    alive[number] = False
            if (alive == kept).all():
                return kept
            kept = alive
