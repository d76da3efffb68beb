"""`reading.attention`: an array with named axes, made when its numbers are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from headscope.errors import BadInput
from headscope.reading import memory
from headscope.reading.weights.held import float_bytes
from headscope.reading.weights.layer import NOT_KEPT
from headscope.reading.weights.token_index import token_coordinates

if TYPE_CHECKING:
    from headscope.reading.part import Part
    from headscope.reading.weights.layer import Array

AT_ONCE = 64_000_000  # bytes: smaller attention is simply there, as an ordinary array


def attention_of(part: Part) -> xr.DataArray:
    if not all(one.has_weights or one.has_qk for one in part.layers):
        raise BadInput(NOT_KEPT)
    shape = (len(part.layers), part.heads, len(part.query), len(part.key))
    dims = ("layer", "head", "query", "key")
    maps = _Maps(part, shape)
    small = float_bytes(shape) <= AT_ONCE
    data: Any = maps.read((slice(None),) * 4) if small else _looked_up(maps)
    coordinates: Any = token_coordinates(part.query, part.key)
    coordinates["layer"] = list(part.numbers)
    coordinates["head"] = np.arange(part.heads)
    return xr.DataArray(
        xr.Variable(dims, data),
        coords=coordinates,
        name="attention",
        attrs={"kind": part.kind},
    )


def _looked_up(maps: _Maps) -> Any:
    """A copy of it looks at the same maps, and one that is written to makes its own."""
    looked_up: Any = indexing.LazilyIndexedArray(maps)
    return indexing.CopyOnWriteArray(looked_up)


class _Maps(BackendArray):
    """All maps of a part, none of them made before it is looked at."""

    def __init__(self, part: Part, shape: tuple[int, int, int, int]) -> None:
        self._part = part
        self.shape = shape
        self.dtype = np.dtype(np.float32)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.OUTER, self.read
        )

    def read(self, key: tuple[Any, ...]) -> Array:
        """Each of the four is a number, a slice, or an array of numbers."""
        chosen = [np.arange(size)[one] for size, one in zip(self.shape, key, strict=True)]
        kept = tuple(one.size for one in chosen if one.ndim)
        layers, heads, queries, keys = (np.atleast_1d(one) for one in chosen)
        rows = key[2] if isinstance(key[2], slice) else queries
        columns = key[3] if isinstance(key[3], slice) else keys
        _check(layers.size * heads.size * queries.size * keys.size * 4)
        result = np.full((layers.size, heads.size, queries.size, keys.size), np.nan, np.float32)
        for place, at in enumerate(layers):
            layer = self._part.layers[at]
            for number, some in _runs(heads, layer.shape[0] or self.shape[1]):
                made = layer.head_weights(some, rows)
                result[place, number : number + made.shape[0]] = made[:, :, columns]
        return result.reshape(kept)


def _runs(heads: Any, count: int) -> list[tuple[int, slice]]:
    """Neighbouring heads together, those a layer does not have left out."""
    runs: list[tuple[int, slice]] = []
    for place, head in enumerate(int(one) for one in heads):
        if head >= count:
            continue
        if runs and runs[-1][1].stop == head and runs[-1][0] + _length(runs[-1][1]) == place:
            runs[-1] = (runs[-1][0], slice(runs[-1][1].start, head + 1))
        else:
            runs.append((place, slice(head, head + 1)))
    return runs


def _length(run: slice) -> int:
    return run.stop - run.start


def _check(size: int) -> None:
    allowed = memory.limit(None)
    if size > allowed:
        raise BadInput(
            f"All of this attention would take {memory.spelled(size)}, more than the "
            f"{memory.spelled(allowed)} this machine can spare; select a layer or a head first, "
            "for example reading.attention.sel(layer=0, head=0)."
        )
