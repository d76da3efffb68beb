"""The heads that carried an answer: attention from the answer to one source cut, head by head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call
from headscope.grounding.passes import AnswerPasses

Head = tuple[int, int]
AT_ONCE = 16  # heads cut in one pass, a row each


def cut_heads(passes: AnswerPasses, heads: Sequence[Head], source: str) -> NDArray[np.float64]:
    """heads × tokens of the answer: the log-probability lost with each head's attention cut.

    The keys and values of the prompt stay as they were; only the answer is read again.
    """
    keys = torch.from_numpy(passes.first.members([source])[0])
    lost: list[NDArray[np.float64]] = []
    for start in range(0, len(heads), AT_ONCE):
        some = heads[start : start + AT_ONCE]
        cut = _Cut(some, keys, passes.first.said)
        lost.append(passes.log_probabilities - passes.again(len(some), cut))
    return np.concatenate(lost)


class _Cut:
    """In row r of the batch, head r attends to the source no more; what is left sums to one."""

    def __init__(self, heads: Sequence[Head], keys: Tensor, queries: int) -> None:
        self._heads, self._keys, self._queries = heads, keys, queries

    def __call__(self, call: Call) -> Tensor | None:
        rows = [(row, head) for row, (layer, head) in enumerate(self._heads) if layer == call.layer]
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
