"""The texts that examples are in, as token ids: spelled out when an atlas is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.text.tokens import continued

Array = NDArray[Any]


@dataclass(frozen=True)
class KeptText:
    """The tokens of a text, as far as they are needed to show it again."""

    ids: NDArray[np.int32]
    segments: NDArray[np.int8]
    classes: NDArray[np.int8]
    continues: NDArray[np.bool_]


def kept_text(side: Mapping[str, Array], row: int, length: int) -> KeptText:
    """A row of a batch's arrays for queries or keys."""
    found = {name: side[name][row, :length] for name in ("ids", "segments", "classes")}
    found["continues"] = continued(side["words"][row, :length])
    return KeptText(**{name: of.astype(_TYPES[name]) for name, of in found.items()})  # copies


def to_arrays(texts: Mapping[int, KeptText]) -> dict[str, Array]:
    """All texts end to end, for a checkpoint."""
    order = sorted(texts)
    joined = {
        name: np.concatenate([np.zeros(0, kind), *(getattr(texts[n], name) for n in order)])
        for name, kind in _TYPES.items()
    }
    lengths = np.array([len(texts[number].ids) for number in order], dtype=np.int64)
    return {"numbers": np.array(order, dtype=np.int64), "lengths": lengths, **joined}


def from_arrays(arrays: Mapping[str, Array]) -> dict[int, KeptText]:
    ends = np.cumsum(arrays["lengths"])
    parts = zip(arrays["numbers"].tolist(), ends - arrays["lengths"], ends, strict=True)
    return {
        number: KeptText(**{name: arrays[name][start:end] for name in _TYPES})
        for number, start, end in parts
    }


_TYPES: dict[str, Any] = {
    "ids": np.int32,
    "segments": np.int8,
    "classes": np.int8,
    "continues": np.bool_,
}
