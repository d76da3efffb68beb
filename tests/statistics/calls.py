"""Attention calls made by hand, and the truth about them in float64."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.capture.call import Call, Lazy
from headscope.statistics.features.feature import NAMED
from headscope.statistics.features.grid import PUNCTUATION, Grid, Side

KEYS = ("first", "cls", "sep", "special", "stops", "sentence_a", "sentence_b")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    batch: int
    heads: int
    groups: int
    tokens: int
    dim: int
    causal: bool = False
    window: int | None = None
    lengths: tuple[int, ...] | None = None


CASES = [
    Case("both directions, padded", 2, 1, 1, 40, 16, lengths=(40, 21)),
    Case("causal, grouped, padded", 2, 2, 1, 40, 32, causal=True, lengths=(40, 9)),
    Case("causal window", 1, 1, 1, 75, 16, causal=True, window=20),
    Case("one token", 1, 1, 1, 1, 16),
]


def make(case: Case, dtype: torch.dtype = torch.float32) -> tuple[Call, Grid, list[Any]]:
    torch.manual_seed(case.tokens)
    shape = (case.batch, case.heads, case.tokens, case.dim)
    group = (case.batch, case.groups, case.tokens, case.dim)
    q, k, v = (torch.randn(s).to(dtype) for s in (shape, group, group))
    size = (case.batch, case.tokens)
    classes = torch.randint(0, 5, size, dtype=torch.int8)
    lengths = case.lengths or (case.tokens,) * case.batch
    for row, length in enumerate(lengths):
        classes[row, length:] = -1
    half = torch.tensor(lengths)[:, None] // 2
    segments = (torch.arange(case.tokens)[None] > half).to(torch.int8)
    segments = segments.masked_fill(classes < 0, -1)
    words = torch.zeros(size, dtype=torch.int32)
    side = Side(torch.randint(0, 7, size), classes, segments, words, torch.rand(size) < 0.2)
    kind = "decoder" if case.causal else "encoder"
    grid = Grid(kind, case.causal, side, side, np.arange(case.batch))
    values: dict[str, Any] = {field.name: None for field in dataclasses.fields(Call)}
    values.update(
        kind=kind,
        layer=0,
        q=q * 1.5,
        k=k,
        v=v,
        scaling=case.dim**-0.5,
        causal=case.causal,
        window=case.window,
        lazy_weights=Lazy(lambda: None),
    )
    wanted = [name for name in NAMED if name not in ("punctuation", "word")]
    if case.causal:
        wanted = [name for name in wanted if name not in ("next", "same_token_other")]
    return Call(**values), grid, [NAMED[name] for name in wanted]


def truth(call: Call, grid: Grid, names: list[str]) -> tuple[dict[str, Tensor], Tensor]:
    """Row features and output from the whole map, in double precision."""
    assert call.q is not None and call.k is not None and call.v is not None
    q, k, v = (tensor.double() for tensor in (call.q, call.k, call.v))
    repeat = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
    n = q.shape[2]
    i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
    seen = grid.key.valid[:, None, None, :] & torch.ones(n, n, dtype=torch.bool)
    if call.causal:
        seen = seen & (j <= i)
    if call.window is not None:
        seen = seen & (i - j < call.window)
    assert call.scaling is not None
    scores = (q @ k.transpose(2, 3) * call.scaling).masked_fill(~seen, -math.inf)
    weights = scores.softmax(-1).nan_to_num()
    content = grid.key.classes >= PUNCTUATION
    same = (grid.key.ids[:, :, None] == grid.key.ids[:, None]) & (i != j)
    same = same & content[:, :, None] & content[:, None]
    other = grid.key.segments[:, :, None] != grid.key.segments[:, None]
    columns = {
        "first": (j == 0).expand(grid.key.ids.shape),
        "cls": grid.key.classes == 0,
        "sep": grid.key.classes == 1,
        "special": grid.key.classes == 2,
        "stops": grid.key.stops,
        "sentence_a": grid.key.segments == 0,
        "sentence_b": grid.key.segments == 1,
    }
    pairs = {
        "self": (i == j)[None],
        "previous": (j == i - 1)[None],
        "next": (j == i + 1)[None],
        "distance": (i - j).abs()[None],
        "distance_squared": ((i - j) ** 2)[None],
        "same_token": same,
        "same_token_other": same & other,
    }
    found: dict[str, Tensor] = {
        "entropy": -(weights * weights.clamp_min(1e-300).log()).sum(-1),
        "largest": weights.amax(-1),
    }
    for name, column in columns.items():
        found[name] = (weights * column[:, None, None, :]).sum(-1)
    for name, pair in pairs.items():
        found[name] = (weights * pair[:, None]).sum(-1)
    return {name: found[name] for name in names}, (weights @ v).transpose(1, 2)
