"""A part: the attention of one kind (encoder, decoder or cross) in a reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.reading.weights.layer import Array, LayerAttention
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    import xarray as xr

    from headscope.capture.call import Kind
    from headscope.reading.rotary import Rotary


# A weighting: a factor per head and key that multiplies the drawn weights.


@dataclass(frozen=True, eq=False)
class Weighting:
    """α_ij f_j / most: at most 1, and 1 for the largest value in the whole reading."""

    title: str  # the name of the drawn value
    most: float
    factors: Mapping[int, NDArray[np.float32]]  # by layer: h s

    def shares(self, layer: int, heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        """h 1 s, a factor for weights."""
        factor = self.factors[layer] / np.float32(self.most)
        return (factor if heads is None else factor[list(heads)])[:, None]

    @property
    def label(self) -> str:
        return f"{self.title} (1 = {self.most:.3g})"


@dataclass(frozen=True, eq=False)
class Part:
    """All kept layers of one kind, with the tokens of queries and keys."""

    kind: Kind
    query: Tokens
    key: Tokens
    layers: tuple[LayerAttention, ...]
    causal: bool = False
    rotary: Rotary | None = None  # which neurons of q and k rotate with position
    why_no_qk: str | None = None
    weightings: Mapping[str, Weighting] = field(default_factory=dict[str, Weighting], repr=False)
    numbers: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", tuple(layer.layer for layer in self.layers))

    @property
    def heads(self) -> int:
        """The number of heads in the layer with the most."""
        return max((one.shape[0] for one in self.layers), default=0)

    @property
    def nbytes(self) -> int:
        """Bytes of the part in memory; arrays that layers share count for each."""
        return sum(one.nbytes for one in self.layers)

    def layer(self, number: int) -> LayerAttention:
        """The layer with that number (not its rank among those kept)."""
        if number not in self.numbers:
            kept = ", ".join(map(str, self.numbers))
            raise BadInput(f"Layer {number} is not in this reading; it holds layers {kept}.")
        return self.layers[self.numbers.index(number)]

    def weights(self, number: int) -> Array:
        """h t s of one layer, computed from q and k when only those were kept."""
        return self.layer(number).head_weights(slice(None))

    def head_weights(self, number: int, head: int) -> Array:
        """t s of one head, without computing the layer's other heads."""
        return self.layer(number).head_weights(slice(head, head + 1))[0]

    @cached_property
    def attention(self) -> xr.DataArray:
        """(layer, head, query, key); layers with fewer heads than others are filled with NaN.

        A large array that was not kept is lazy: only the selection is computed.
        """
        from headscope.reading.weights.lazy import attention_of

        return attention_of(self)
