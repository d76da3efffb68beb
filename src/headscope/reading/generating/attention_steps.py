"""What `model.generate(output_attentions=True)` returns: attention of every step, layer by layer.

The first step reads the prompt, each later one a single new token that looks back at all before
it; without a cache every step reads the whole text again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput

Maps = NDArray[np.float32]  # b h t s


def is_stepwise(attention: Any) -> bool:
    """Whether there is a sequence of layers for every step."""
    if not isinstance(attention, tuple | list) or not attention:
        return False
    first = attention[0]
    return isinstance(first, tuple | list) and bool(first) and hasattr(first[0], "shape")


def whole_maps(steps: Any, name: str) -> list[Maps]:
    """One b h t s array per layer, the rows of all steps under each other."""
    layers = {len(step) for step in steps}
    if len(layers) != 1:
        raise BadInput(f"{name} has steps of {sorted(layers)} layers; give them as generate did.")
    return [_joined([as_array(step[layer]) for step in steps]) for layer in range(layers.pop())]


def _joined(rows: list[Maps]) -> Maps:
    last = rows[-1]
    if len(rows) > 1 and last.shape[2] > 1:  # no cache: the last step has read everything
        return last
    keys = max(row.shape[3] for row in rows)
    filled = [np.pad(row, ((0, 0), (0, 0), (0, 0), (0, keys - row.shape[3]))) for row in rows]
    return np.concatenate(filled, axis=2)


def as_array(layer: Any) -> Maps:
    """A layer's weights from a tensor of any device and precision, or an array."""
    if hasattr(layer, "detach"):
        layer = layer.detach().to("cpu").float().numpy()
    return np.asarray(layer, dtype=np.float32)
