"""Positions that can be chosen by number or by token: `attention.sel(query=3, key="she")`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from xarray.core.indexes import PandasIndex
from xarray.core.indexing import IndexSelResult

from headscope.errors import BadInput
from headscope.text.tokens import Tokens


class TokenIndex(PandasIndex):
    """The places of tokens, as they stand in the text, and what they are called."""

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
        """A token that stands in one place gives its row, one in several all of them."""
        places = np.asarray(self.index)
        for names in self.names:
            found = np.flatnonzero([names[place] == token for place in places])
            if len(found):
                return int(found[0]) if len(found) == 1 else found
        raise BadInput(f"There is no token {token!r} along {self.dim}; the tokens are its labels.")


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
