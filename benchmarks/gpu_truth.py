"""What `survey_gpu.py` checks the GPU kernel against: float64, written from the definitions."""

from __future__ import annotations

import dataclasses
import importlib
import math
import pkgutil

import numpy as np
import torch

from headscope.capture.call import Call, Lazy
from headscope.statistics.features.grid import CLS, PADDING, PUNCTUATION, SEP, WORD, Grid, Side
from headscope.statistics.kernels import survey_launch
from headscope.statistics.kernels.blocks import Plan
from headscope.statistics.statistic import Statistic
from headscope.surveys.loop import features_for
from headscope.surveys.reducers import Statistics

DEVICE = "cuda"


def standard_statistics() -> list[Statistic]:
    """The standard statistics, found in their folder; files that need more packages are passed."""
    import headscope.statistics.definitions as home

    found: dict[str, Statistic] = {}
    for entry in pkgutil.iter_modules(home.__path__):
        try:
            module = importlib.import_module(f"headscope.statistics.definitions.{entry.name}")
        except ImportError:
            continue
        for thing in vars(module).values():
            is_one = isinstance(thing, type) and issubclass(thing, Statistic)
            if is_one and "name" in vars(thing) and thing.standard:
                found[thing.name] = thing()
    return list(found.values())


def make_grid(batch: int, length: int, causal: bool, lengths: list[int] | None = None) -> Grid:
    """Tokens like those of text: [CLS] … [SEP] … [SEP], a tenth of them punctuation."""
    chance = np.random.default_rng(0)
    ids = np.minimum(chance.zipf(1.3, (batch, length)), 29_000).astype(np.int64)
    classes = np.where(chance.random((batch, length)) < 0.1, PUNCTUATION, WORD).astype(np.int8)
    segments = np.zeros((batch, length), dtype=np.int8)
    classes[:, 0] = CLS
    if not causal:
        classes[:, [length // 2, length - 1]] = SEP
        segments[:, length // 2 + 1 :] = 1
    for row, count in enumerate(lengths or []):
        classes[row, count:] = PADDING
        segments[row, count:] = PADDING
    stops = classes == PUNCTUATION
    side = Side(
        *(
            torch.from_numpy(a).to(DEVICE)
            for a in (ids, classes, segments, ids.astype(np.int32), stops)
        )
    )
    kind = "decoder" if causal else "encoder"
    return Grid(kind, causal, side, side, np.arange(batch))


def make_call(q, k, v, grid: Grid, window: int | None = None) -> Call:
    values = {field.name: None for field in dataclasses.fields(Call)}
    values.update(
        kind=grid.kind, layer=0, q=q, k=k, v=v, scaling=q.shape[-1] ** -0.5,
        causal=grid.causal, window=window, lazy_weights=Lazy(lambda: None),
    )  # fmt: skip
    return Call(**values)


def reference(
    call: Call, grid: Grid, names: list[str]
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Row features in float64 from the full map, written from their definitions."""
    q, k, v = (t.double() for t in (call.q, call.k, call.v))
    repeat = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
    scores = q @ k.transpose(2, 3) * call.scaling
    n = scores.shape[-1]
    i = torch.arange(n, device=DEVICE)[:, None]
    j = torch.arange(n, device=DEVICE)[None, :]
    seen = grid.key.valid[:, None, None, :].expand_as(scores[:, :1])
    if call.causal:
        seen = seen & (j <= i)
    if call.window is not None:
        seen = seen & (i - j < call.window)
    weights = scores.masked_fill(~seen, -math.inf).softmax(-1).nan_to_num()
    key = {
        "cls": grid.key.classes == CLS, "sep": grid.key.classes == SEP, "stops": grid.key.stops,
        "first": (j == 0).expand(grid.key.ids.shape), "sentence_a": grid.key.segments == 0,
        "sentence_b": grid.key.segments == 1,
    }  # fmt: skip
    same = (grid.query.ids[:, :, None] == grid.key.ids[:, None]) & (i != j)
    same &= (grid.query.classes >= PUNCTUATION)[:, :, None] & (grid.key.classes >= PUNCTUATION)[
        :, None
    ]
    other = grid.query.segments[:, :, None] != grid.key.segments[:, None]
    pair = {
        "distance": (i - j).abs().double()[None],
        "distance_squared": (i - j).double().square()[None],
        "same_token": same, "same_token_other": same & other,
        "self": (i == j)[None], "previous": (i - 1 == j)[None], "next": (i + 1 == j)[None],
    }  # fmt: skip
    made = {}
    for name in names:
        if name in key:
            made[name] = torch.einsum("bhts,bs->bht", weights, key[name].double())
        elif name in pair:
            made[name] = (weights * pair[name].double()[:, None]).sum(-1)
        elif name == "entropy":
            made[name] = -(weights * weights.clamp_min(1e-300).log()).sum(-1)
        elif name == "largest":
            made[name] = weights.amax(-1)
    return made, (weights @ v).transpose(1, 2)


def check() -> dict[str, float]:
    """The kernel on this device against float64, over masks, groups, sizes and precisions."""
    chosen = standard_statistics()
    cases = []
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for dim in (32, 64, 128):
            cases += [
                (2, 4, 4, 200, dim, False, None, [200, 77], dtype),
                (2, 4, 2, 333, dim, True, None, [333, 130], dtype),
                (1, 4, 1, 400, dim, True, 100, None, dtype),
            ]
    worst: dict[str, float] = {}
    for batch, heads, groups, n, dim, causal, window, lengths, dtype in cases:
        torch.manual_seed(n + dim)
        q, k, v = (
            torch.randn(batch, h, n, dim, device=DEVICE).to(dtype) for h in (heads, groups, groups)
        )
        grid = make_grid(batch, n, causal, lengths)
        call = make_call(q * 1.5, k, v, grid, window)
        plan = Plan(grid, features_for([Statistics(chosen)], {grid.kind: grid})[grid.kind])
        reduced, output = survey_launch.from_scores(call, plan)
        expected, expected_output = reference(call, grid, plan.names)
        valid = grid.query.valid[:, None, :]
        for place, name in enumerate(plan.names):
            scale = 1.0 if not name.startswith("distance") else float(expected[name].abs().max())
            error = (
                (reduced.values[:, :, place].double() - expected[name]).abs() * valid
            ).max() / scale
            worst[name] = max(worst.get(name, 0.0), float(error))
        error = ((output.double() - expected_output).abs() * valid.transpose(1, 2)[..., None]).max()
        key = f"output {str(dtype).removeprefix('torch.')}"
        worst[key] = max(worst.get(key, 0.0), float(error))
    print("largest difference from float64:", {k: f"{v:.1e}" for k, v in worst.items()}, flush=True)
    # shares of bfloat16 models come from weights in one half-precision term: 2⁻¹² of themselves
    exact = ("entropy", "largest", "self", "previous", "next")
    for name, error in worst.items():
        if not name.startswith("output"):
            assert error < (2e-5 if name in exact else 3e-4), f"{name} is wrong by {error}"
    assert worst["output float32"] < 1e-4 and worst["output bfloat16"] < 3e-2, "output is wrong"
    return worst
