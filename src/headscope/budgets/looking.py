"""Where heads look while the model reads: outside of sink and window, and at needles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.budgets.heads import KeyValueHeads
from headscope.budgets.texts import Texts
from headscope.capture import Call
from headscope.capture.softmax import weight_rows
from headscope.edits.modes.streaming import kept_keys

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.runs import Run

Floats = NDArray[np.float64]
ROWS = 128  # queries whose weights are made at a time


def lengths(kept: int, tokens: int) -> tuple[int, ...]:
    """Ends of stretches of tokens before a query, each twice the one before."""
    ends = [2 * kept]
    while ends[-1] < tokens:
        ends.append(2 * ends[-1])
    return (*ends[:-1], tokens)


def shares_outside(
    scope: Scope, texts: Texts, heads: KeyValueHeads, sink: int, window: int, run: Run
) -> Floats:
    """length × layer × key-value head: attention outside of sink and window, mean over queries."""
    tokens = len(texts.texts[0])
    ends = lengths(sink + window, tokens)
    total = np.zeros((len(ends), max(heads.layers) + 1, heads.groups))
    for ids in run.track(texts.texts, "Measuring attention outside sink and window"):

        def look(call: Call) -> None:
            start = sink + window
            for number, end in enumerate(ends):
                parts: list[torch.Tensor] = []
                for at in range(start, end, ROWS):
                    rows = torch.arange(at, min(end, at + ROWS), device=scope.device)
                    far = ~kept_keys(call, rows, (sink, window))
                    parts.append((weight_rows(call, rows) * far).sum(-1)[0])  # h r
                if parts:
                    mean = torch.cat(parts, 1).mean(1).view(heads.groups, heads.per_group).mean(1)
                    total[number, call.layer] += mean.double().cpu().numpy()
                start = end

        scope.forward({"input_ids": torch.tensor([ids], device=scope.device)}, look, lazy=True)
    return total / len(texts.texts)


def retrieval_scores(scope: Scope, texts: Texts, heads: KeyValueHeads, run: Run) -> Floats:
    """layer × key-value head: how often its best query head looks most at the needle's token."""
    total = np.zeros((max(heads.layers) + 1, heads.groups, heads.per_group))
    for needle in run.track(texts.needles, "Looking for needles"):
        rows = torch.tensor(needle.asks, device=scope.device)
        right = torch.arange(needle.at, needle.at + len(needle.asks), device=scope.device)

        def look(call: Call, rows: torch.Tensor = rows, right: torch.Tensor = right) -> None:
            hits = (weight_rows(call, rows)[0].argmax(-1) == right).double().mean(-1)  # h
            shape = (heads.groups, heads.per_group)
            total[call.layer] += hits.view(shape).cpu().numpy()

        given = torch.tensor([needle.ids], device=scope.device)
        scope.forward({"input_ids": given}, look, lazy=True)
    return (total / len(texts.needles)).max(-1)
