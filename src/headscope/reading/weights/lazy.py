"""`reading.attention`: an array with named axes, computed when its numbers are used."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing
from xarray.core.indexes import PandasIndex
from xarray.core.indexing import IndexSelResult

from headscope.errors import BadInput
from headscope.reading import memory
from headscope.reading.weights.held import float_bytes
from headscope.reading.weights.layer import NOT_KEPT
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.part import Part
    from headscope.reading.weights.layer import Array


AT_ONCE = 64_000_000  # bytes: smaller attention is an ordinary array


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
    """Copies share the maps; writing to one makes its own."""
    looked_up: Any = indexing.LazilyIndexedArray(maps)
    return indexing.CopyOnWriteArray(looked_up)


class _Maps(BackendArray):
    """All maps of a part, each computed on use."""

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
        for position, at in enumerate(layers):
            layer = self._part.layers[at]
            for number, some in _runs(heads, layer.shape[0] or self.shape[1]):
                made = layer.head_weights(some, rows)
                result[position, number : number + made.shape[0]] = made[:, :, columns]
        return result.reshape(kept)


def _runs(heads: Any, count: int) -> list[tuple[int, slice]]:
    """Runs of neighbouring heads, without those that a layer lacks."""
    runs: list[tuple[int, slice]] = []
    for position, head in enumerate(int(one) for one in heads):
        if head >= count:
            continue
        if runs and runs[-1][1].stop == head and runs[-1][0] + _length(runs[-1][1]) == position:
            runs[-1] = (runs[-1][0], slice(runs[-1][1].start, head + 1))
        else:
            runs.append((position, slice(head, head + 1)))
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


# Selecting positions by number or by token: `attention.sel(query=3, key="she")`.


class TokenIndex(PandasIndex):
    """The positions of tokens in the text, and their names."""

    names: tuple[Sequence[str], ...] = ()  # labels, and as the vocabulary spells them

    @staticmethod
    def of(tokens: Tokens, dim: str) -> TokenIndex:
        made = TokenIndex(pd.RangeIndex(len(tokens)), dim)
        made.names = (tokens.labels, tokens.spellings)
        return made

    def _replace(
        self, index: Any, dim: Hashable | None = None, coord_dtype: Any = None
    ) -> TokenIndex:
        made = TokenIndex(index, dim or self.dim, coord_dtype or self.coord_dtype)
        made.names = self.names
        return made

    def sel(
        self, labels: dict[Any, Any], method: Any = None, tolerance: Any = None
    ) -> IndexSelResult:
        (name, wanted), *_ = labels.items()
        if isinstance(wanted, str):
            return IndexSelResult({self.dim: self._one(wanted)})
        if isinstance(wanted, list | tuple) and wanted and all(isinstance(w, str) for w in wanted):
            found = [np.atleast_1d(self._one(one)) for one in wanted]
            return IndexSelResult({self.dim: np.concatenate(found)})
        return super().sel({name: wanted}, method=method, tolerance=tolerance)

    def _one(self, token: str) -> Any:
        """A token at one position gives its row; one at several gives all of them."""
        positions = np.asarray(self.index)
        for names in self.names:
            found = np.flatnonzero([names[position] == token for position in positions])
            if len(found):
                return int(found[0]) if len(found) == 1 else found
        labels = list(dict.fromkeys(self.names[0][position] for position in positions[:20]))
        some = ", ".join(repr(label) for label in labels[:6])
        more = ", …" if len(positions) > 20 or len(labels) > 6 else ""
        raise BadInput(
            f"There is no token {token!r} along {self.dim}; it has {some}{more}. "
            "Select by one of the tokens, or read whole words with reading.words()."
        )


def token_coordinates(query: Tokens, key: Tokens) -> Mapping[str, Any]:
    """The coordinates of two axes of tokens, with the tokens' names beside them."""
    import xarray as xr

    coordinates: Any = xr.Coordinates()
    for dim, tokens in (("query", query), ("key", key)):
        coordinates = coordinates.merge(
            xr.Coordinates.from_xindex(TokenIndex.of(tokens, dim))
        ).coords
        coordinates[f"{dim}_token"] = (dim, list(tokens.labels))
    return coordinates
