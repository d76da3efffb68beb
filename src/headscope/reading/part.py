"""A part: the attention of one kind (encoder, decoder or cross) in a reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    import xarray as xr

    from headscope.capture.call import Kind

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LayerAttention:
    """What one layer computed for one input; None where it was not kept or cannot be read."""

    layer: int
    weights: Array | None = None  # h t s
    q: Array | None = None  # h t d, after rotary
    k: Array | None = None  # g s d
    v: Array | None = None  # g s d
    scaling: float | None = None
    bias: Array | None = None  # h t s, positional
    mask: NDArray[np.bool_] | None = None  # t s, True where a query may look; None: everywhere
    window: int | None = None
    softcap: float | None = None
    sinks: Array | None = None  # h

    def compute_weights(self) -> Array:
        """softmax(q·kᵀ·scaling + bias + mask) in float64: the weights from what made them."""
        if self.q is None or self.k is None or self.scaling is None:
            raise BadInput("q and k were not kept; read the text again with keep=('q', 'k').")
        groups = self.q.shape[0] // self.k.shape[0]
        k = np.repeat(self.k.astype(np.float64), groups, axis=0)
        scores = self.q.astype(np.float64) @ k.transpose(0, 2, 1) * self.scaling
        if self.softcap is not None:
            scores = np.tanh(scores / self.softcap) * self.softcap
        if self.bias is not None:
            scores = scores + self.bias
        if self.mask is not None:
            scores = np.where(self.mask, scores, -np.inf)
        top = scores.max(axis=-1, keepdims=True)
        if self.sinks is not None:
            top = np.maximum(top, self.sinks[:, None, None])
        exponentials = np.exp(scores - top)
        total = exponentials.sum(axis=-1, keepdims=True)
        if self.sinks is not None:
            total = total + np.exp(self.sinks[:, None, None] - top)
        return (exponentials / total).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Part:
    """All kept layers of one kind, with the tokens that look (query) and are looked at (key)."""

    kind: Kind
    query: Tokens
    key: Tokens
    layers: tuple[LayerAttention, ...]
    causal: bool = False
    rotary: bool = False
    why_no_qk: str | None = None
    numbers: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", tuple(layer.layer for layer in self.layers))

    @property
    def heads(self) -> int:
        return max(
            (
                array.shape[0]
                for one in self.layers
                for array in (one.weights, one.q)
                if array is not None
            ),
            default=0,
        )

    def layer(self, number: int) -> LayerAttention:
        """The layer with that number (not its place among those kept)."""
        if number not in self.numbers:
            kept = ", ".join(map(str, self.numbers))
            raise BadInput(f"Layer {number} is not in this reading; it holds layers {kept}.")
        return self.layers[self.numbers.index(number)]

    def weights(self, number: int) -> Array:
        """h t s of one layer, computed from q and k when only those were kept."""
        one = self.layer(number)
        return one.weights if one.weights is not None else one.compute_weights()

    @cached_property
    def attention(self) -> xr.DataArray:
        """(layer, head, query, key); layers with fewer heads than others are filled with NaN."""
        import xarray as xr

        stack = np.full(
            (len(self.layers), self.heads, len(self.query), len(self.key)), np.nan, dtype=np.float32
        )
        for place, number in enumerate(self.numbers):
            weights = self.weights(number)
            stack[place, : weights.shape[0]] = weights
        return xr.DataArray(
            stack,
            dims=("layer", "head", "query", "key"),
            coords={
                "layer": list(self.numbers),
                "head": np.arange(self.heads),
                "query": np.arange(len(self.query)),
                "key": np.arange(len(self.key)),
                "query_token": ("query", list(self.query.labels)),
                "key_token": ("key", list(self.key.labels)),
            },
            name="attention",
            attrs={"kind": self.kind},
        )
