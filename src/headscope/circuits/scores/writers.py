"""Writers: the parts that write into the residual stream, and a vector as a sum over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from torch import Tensor

from headscope.capture import Kind

Part = Literal[
    "embedding", "position", "segment", "encoder", "head", "mlp", "feature", "error", "bias"
]
Side = Literal["query", "key"]
ORDER: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class Writer:
    """A part that wrote into the stream: an embedding, a head, an MLP, or all biases.

    With a dictionary: a feature of the stream, or the error, which no feature reproduces.
    """

    part: Part
    kind: Kind | None = None
    layer: int | None = None
    head: int | None = None
    feature: int | None = None

    @property
    def name(self) -> str:
        if self.part == "feature":
            return f"feature {self.feature}"
        if self.part == "head":
            return f"{'cross ' if self.kind == 'cross' else ''}{self.layer}-{self.head}"
        named = "MLP" if self.part == "mlp" else self.part
        return named if self.layer is None else f"{named} {self.layer}"

    @property
    def order(self) -> tuple[int, int, str, int]:
        """Embeddings first, then heads and MLPs by layer, biases last."""
        return (ORDER.index(self.part), self.layer or 0, self.kind or "", self.head or 0)


@dataclass(frozen=True)
class Written:
    """One vector as a sum: `vectors[n]` is what `writers[n]` contributed to `whole`."""

    writers: tuple[Writer, ...]
    vectors: Tensor  # W d, float64
    whole: Tensor  # d, float64


@dataclass(frozen=True)
class WrittenRows:
    """One number per position as a sum: `values[n]` is what `writers[n]` contributed."""

    writers: tuple[Writer, ...]
    values: Tensor  # W t, float64


@dataclass(frozen=True)
class Removal:
    """A writer removed from the query or the key alone: three values of the change of weight.

    Without the writer, norms multiply the rest of the vector by `scale`. Parts of a score ignore
    that; `rescaled` includes the norms between the last writer and the head.
    """

    side: Side
    writer: Writer
    predicted: float  # from its part of the scores, norms frozen
    rescaled: float  # the same, with the head's own norms at their new scale
    measured: float  # by the model, with its norms recomputed
    scale: float  # length of the remaining vector, over its length with frozen norms
