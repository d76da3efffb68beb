"""A batch of text in one piece of memory: prepared by any process, given to a device in one copy.

A batch of 256 texts is some thirty small arrays and a thousand Python objects. Packed, it goes
through a pipe as bytes, and the process that drives a GPU touches no text at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.text.batches import TextBatch
from headscope.statistics.features.side_arrays import side_arrays
from headscope.statistics.survey.account import unread_characters
from headscope.text.tokens import Tokens

ALIGNED = 8  # bytes: every array begins at a multiple, so that a device can read it in place
SMALL = {"input_ids": np.int32, "token_type_ids": np.int8}  # types that hold them on the way


@dataclass(frozen=True)
class Read:
    """How much some texts are, and how much of them is read."""

    documents: int
    tokens: int
    truncated: int
    characters: int
    unread_characters: int

    @staticmethod
    def of(tokens: Sequence[Tokens]) -> Read:
        characters, unread = unread_characters(tokens)
        cut = sum(one.is_truncated for one in tokens)
        return Read(len(tokens), sum(map(len, tokens)), cut, characters, unread)


@dataclass(frozen=True)
class Packed:
    """The inputs and the side of a batch whose queries and keys are the same tokens."""

    data: NDArray[np.uint8]
    arrays: tuple[tuple[str, str, tuple[int, ...], int], ...]  # name, type, shape, first byte
    documents: NDArray[np.int64]
    full: bool  # no text is padded
    read: Read

    def here(self, name: str) -> NDArray[Any]:
        """One of the arrays, in main memory."""
        _, kind, shape, start = next(one for one in self.arrays if one[0] == name)
        return np.frombuffer(self.data, kind, math.prod(shape), start).reshape(shape)

    @staticmethod
    def of(batch: TextBatch) -> Packed:
        inputs = {name: np.asarray(values) for name, values in batch.inputs.inputs.items()}
        lengths = inputs.pop("attention_mask").sum(axis=1).astype(np.int32)
        width = inputs["input_ids"].shape[1]
        arrays: dict[str, NDArray[Any]] = {
            "lengths": lengths,
            **{name: array.astype(SMALL[name]) for name, array in inputs.items()},
            # the numbers of the tokens are among the inputs already
            **{k: v for k, v in side_arrays(batch.tokens, width).items() if k != "ids"},
        }
        placed: list[tuple[str, str, tuple[int, ...], int]] = []
        size = 0
        for name, array in arrays.items():
            placed.append((name, array.dtype.name, array.shape, size))
            size += -(-array.nbytes // ALIGNED) * ALIGNED
        data = np.zeros(size, dtype=np.uint8)
        for array, (_, _, _, start) in zip(arrays.values(), placed, strict=True):
            data[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
        full = bool((lengths == width).all())
        return Packed(data, tuple(placed), batch.documents, full, Read.of(batch.tokens))
