"""Knockout: cut the attention from the answer to one source, head by head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call
from headscope.grounding.passes import AnswerPasses

Head = tuple[int, int]
AT_ONCE = 16  # cuts in one pass, one per row


def cut_heads(
    passes: AnswerPasses, cuts: Sequence[Sequence[Head]], source: str
) -> NDArray[np.float64]:
    """cuts × tokens of the answer: the log-probability lost with the attention of each cut's heads.

    The prompt's keys and values are unchanged; only the answer is read again.
    """
    keys = torch.from_numpy(passes.first.members([source])[0])
    lost: list[NDArray[np.float64]] = []
    for start in range(0, len(cuts), AT_ONCE):
        some = cuts[start : start + AT_ONCE]
        sink = _Cut(some, keys, passes.first.said)
        lost.append(passes.log_probabilities - passes.again(len(some), sink))
    return np.concatenate(lost)


class _Cut:
    """In row r of the batch the heads of cut r skip the source; the rest still sums to one."""

    def __init__(self, cuts: Sequence[Sequence[Head]], keys: Tensor, queries: int) -> None:
        self._cuts, self._keys, self._queries = cuts, keys, queries

    def __call__(self, call: Call) -> Tensor | None:
        rows = [
            (row, head)
            for row, heads in enumerate(self._cuts)
            for layer, head in heads
            if layer == call.layer
        ]
        if call.kind != "decoder" or not rows:
            return None
        weights = call.weights.clone()
        hidden = self._keys.to(weights.device)
        last = slice(weights.shape[2] - self._queries, None)
        for row, head in rows:
            own = weights[row, head, last]
            whole = own.sum(-1, keepdim=True)
            own = own.masked_fill(hidden, 0.0)
            rest = own.sum(-1, keepdim=True)
            weights[row, head, last] = own * (whole / rest.clamp_min(1e-12)) * (rest > 1e-12)
        return weights
