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


# A weighting: what attention carries, as a factor per head and key to draw weights times.


@dataclass(frozen=True, eq=False)
class Weighting:
    """α_ij f_j / most: at most 1, and 1 for what carries most in the whole reading."""

    title: str  # what is drawn instead of the weight
    most: float
    factors: Mapping[int, NDArray[np.float32]]  # by layer: h s

    def shares(self, layer: int, heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        """h 1 s, to be multiplied with weights."""
        factor = self.factors[layer] / np.float32(self.most)
        return (factor if heads is None else factor[list(heads)])[:, None]

    @property
    def label(self) -> str:
        return f"{self.title} (1 = {self.most:.3g})"


@dataclass(frozen=True, eq=False)
class Part:
    """All kept layers of one kind, with the tokens that look (query) and are looked at (key)."""

    kind: Kind
    query: Tokens
    key: Tokens
    layers: tuple[LayerAttention, ...]
    causal: bool = False
    rotary: Rotary | None = None  # which neurons of q and k turn with position
    why_no_qk: str | None = None
    weightings: Mapping[str, Weighting] = field(default_factory=dict[str, Weighting], repr=False)
    numbers: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", tuple(layer.layer for layer in self.layers))

    @property
    def heads(self) -> int:
        """Of the layer with the most."""
        return max((one.shape[0] for one in self.layers), default=0)

    @property
    def nbytes(self) -> int:
        """Of memory that the part takes; what layers share counts for each."""
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
        """t s of one head; the other heads of its layer are not made."""
        return self.layer(number).head_weights(slice(head, head + 1))[0]

    @cached_property
    def attention(self) -> xr.DataArray:
        """(layer, head, query, key); layers with fewer heads than others are filled with NaN.

        A large one that was not kept is lazy: what is selected is computed, and nothing else.
        """
        from headscope.reading.weights.lazy import attention_of

        return attention_of(self)
