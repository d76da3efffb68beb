"""Attention between words: the sum over pieces to a split word, the mean from it.

Rows still sum to one. Works on batches, on the device where the weights are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import BadInput

Mode = Literal["mean", "first"]  # a split word's row: its pieces' mean, or the first's


@dataclass(frozen=True)
class WordIndex:
    """How the words of a batch lie over its tokens."""

    total: Tensor  # b w t, 1 where the token is a piece of the word
    average: Tensor  # b w t, the share of the token in the word's row
    present: Tensor  # b w, True for words that have a token

    def __call__(self, weights: Tensor) -> Tensor:
        """b h t t attention between tokens → b h w w between words."""
        batch, heads, queries, keys = weights.shape
        words = self.total.shape[1]
        # one product a sentence for all heads and queries, then one a head
        to_words = weights.reshape(batch, heads * queries, keys) @ self.total.mT
        return self.average[:, None] @ to_words.view(batch, heads, queries, words)


def word_index(
    numbers: Sequence[NDArray[np.integer]],
    *,
    tokens: int,
    words: int,
    mode: Mode = "mean",
    ends: Sequence[tuple[int, int]] | None = None,
    device: torch.device | str = "cpu",
) -> WordIndex:
    """Lay `words` words over `tokens` tokens: `numbers` has each real token's word, -1 for none.

    `ends` adds two more words, the tokens that open and close each text (-1 where there is none).
    """
    if mode not in ("mean", "first"):
        raise BadInput(f"A split word is read by the 'mean' or its 'first' piece, not {mode!r}.")
    total = np.zeros((len(numbers), words + (2 if ends else 0), tokens), np.float32)
    for row, of_token in enumerate(numbers):
        inside = np.flatnonzero(of_token >= 0)
        total[row, of_token[inside], inside] = 1  # padding is on the right
    for row, positions in enumerate(ends or ()):
        for extra, position in enumerate(positions):
            if position >= 0:
                total[row, words + extra, position] = 1
    present: NDArray[np.bool_] = total.max(axis=2, initial=0) > 0
    if mode == "first":
        average = np.zeros_like(total)
        first = total.argmax(axis=2)
        np.put_along_axis(average, first[..., None], present[..., None].astype(np.float32), axis=2)
    else:
        average = total / np.maximum(total.sum(axis=2, keepdims=True), 1)
    return WordIndex(
        total=torch.from_numpy(total).to(device),
        average=torch.from_numpy(average).to(device),
        present=torch.from_numpy(present).to(device),
    )
