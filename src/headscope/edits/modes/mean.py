"""Mean: the head attends as it does on average, independent of the input.

Without a reference every query gets the mean row of its own text (the average over that text's
queries), so the head still favours the same tokens but attends alike from every query; this needs
no second pass and does not depend on the rest of the batch. With a reference (`weights=` a list of
readings) the row of query i is the mean of that head's row i over the reference texts that have a
position i, so the head keeps what depends on position and loses what depends on the text. Either
way the row is cut to the keys the query may see and scaled to sum to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from headscope.capture import Call
from headscope.edits.modes import visible_keys
from headscope.errors import BadInput


def check(weights: object) -> None:
    if weights is not None and (
        not isinstance(weights, Sequence) or not weights or not hasattr(weights[0], "part")
    ):
        raise BadInput("The mean mode takes a list of readings as weights= (or nothing).")


def instead(call: Call, weights: object) -> Tensor:
    before = call.weights
    if weights is None:
        real = call.valid_queries[:, None, :, None].to(before.dtype)
        mean = (before * real).sum(dim=2, keepdim=True) / real.sum(dim=2, keepdim=True).clamp(min=1)
        rows = mean.expand_as(before)
    else:
        rows = _reference_rows(call, cast("Sequence[Any]", weights))
    rows = rows * visible_keys(call)
    total = rows.sum(dim=-1, keepdim=True)
    # a mean wholly on keys that the query may not see cannot be scaled up
    return torch.where(total > 0, rows / total.clamp(min=torch.finfo(rows.dtype).tiny), before)


def _reference_rows(call: Call, readings: Sequence[Any]) -> Tensor:
    """1 h t s: the mean map of this call's layer over the readings, aligned at the first token."""
    queries, keys = call.weights.shape[2:]
    total = np.zeros((call.heads, queries, keys), dtype=np.float64)
    seen = np.zeros((queries, keys), dtype=np.float64)
    for reading in readings:
        part = reading.part(call.kind)
        if call.layer not in part.numbers:
            raise BadInput(
                f"A reference reading lacks layer {call.layer}; read the reference without layers=."
            )
        attention = part.weights(call.layer)
        t, s = min(queries, attention.shape[1]), min(keys, attention.shape[2])
        total[:, :t, :s] += attention[:, :t, :s]
        seen[:t, :s] += 1
    mean = total / np.maximum(seen, 1)
    return torch.from_numpy(mean).to(call.weights.device, call.weights.dtype)[None]
