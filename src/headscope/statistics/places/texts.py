"""The texts that kept places are in, as token ids: spelled out when an atlas is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.text.tokens import Tokens

Array = NDArray[Any]


@dataclass(frozen=True)
class KeptText:
    """What is needed to show a text again."""

    ids: NDArray[np.int32]
    segments: NDArray[np.int8]
    classes: NDArray[np.int8]
    continues: NDArray[np.bool_]

    @staticmethod
    def of(tokens: Tokens) -> KeptText:
        return KeptText(
            tokens.ids.astype(np.int32),
            tokens.segments.astype(np.int8),
            tokens.classes.astype(np.int8),
            tokens.continues,
        )


def to_arrays(texts: dict[int, KeptText]) -> dict[str, Array]:
    """All texts end to end, to be kept beside a run."""
    order = sorted(texts)
    joined = {
        name: np.concatenate([getattr(texts[number], name) for number in order])
        if order
        else np.zeros(0, dtype=kind)
        for name, kind in _KINDS.items()
    }
    lengths = np.array([len(texts[number].ids) for number in order], dtype=np.int64)
    return {"numbers": np.array(order, dtype=np.int64), "lengths": lengths, **joined}


def from_arrays(arrays: dict[str, Array]) -> dict[int, KeptText]:
    ends = np.cumsum(arrays["lengths"].astype(np.int64))
    starts = ends - arrays["lengths"].astype(np.int64)
    return {
        int(number): KeptText(*(arrays[name][a:b].astype(kind) for name, kind in _KINDS.items()))
        for number, a, b in zip(arrays["numbers"].tolist(), starts, ends, strict=True)
    }


_KINDS: dict[str, Any] = {
    "ids": np.int32,
    "segments": np.int8,
    "classes": np.int8,
    "continues": np.bool_,
}
