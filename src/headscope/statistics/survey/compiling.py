"""The kernels that a run will use on a GPU, compiled from its first moment on."""

from __future__ import annotations

import contextlib
from functools import partial

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.capture.call import Lazy
from headscope.corpus.text.batches import batches
from headscope.corpus.text.segments import Segment
from headscope.reading import Scope
from headscope.statistics.features.grid import Grid, grids
from headscope.statistics.kernels import fused, row_tiles
from headscope.statistics.kernels.ahead import ahead
from headscope.statistics.kernels.plan import Plan
from headscope.statistics.survey.batch_values import features_for
from headscope.statistics.survey.portion import Settings

LONGEST = 512  # tokens at most of the text on which kernels are compiled


def compile_ahead(scope: Scope, settings: Settings) -> None:
    """Begin with those for the longest texts, as far as the model's description tells what they
    will be given; a wrong guess costs a core some seconds and changes nothing else."""
    if scope.device.type != "cuda" or settings.fused is not None:
        return
    with contextlib.suppress(Exception):
        if settings.of("corpus") and len(scope.kinds) == 1 and scope.description.reads_values:
            _row_features(scope, settings)
        if settings.distances:
            works = [partial(_pairs, scope.device, count) for count in (16, 17)]
            ahead("pairs of heads", scope.device, works)


def _row_features(scope: Scope, settings: Settings) -> None:
    longest = min(settings.longest or LONGEST, LONGEST)
    call, plan = _example(scope, settings, longest)
    if fused.fits(call, plan):
        works = [partial(fused.compiled, call, plan)]
        if longest > fused.SHORT:  # shorter batches have a tile of their own
            works.append(partial(fused.compiled, *_example(scope, settings, fused.SHORT)))
        ahead("one pass", scope.device, works)
        return
    longest = min(longest, row_tiles.MOST_KEYS)
    keeps = settings.places is not None and 0 < settings.places.compared < 1
    # whole lines of memory, and any other width
    examples = [_example(scope, settings, tokens) for tokens in (longest, longest - 1)]
    works = [partial(row_tiles.compiled, *one, keeps) for one in examples if row_tiles.fits(*one)]
    if works:
        ahead("whole rows", scope.device, works)


def _pairs(device: torch.device, count: int) -> object:
    from headscope.statistics.kernels import pair_divergence

    return pair_divergence.compiled(device, count)


def _example(scope: Scope, settings: Settings, tokens: int) -> tuple[Call, Plan]:
    """A call of the model on a text of so many tokens, as far as a kernel can tell."""
    text = [Segment(0, 0, "the " * tokens)]
    on = grids(scope, next(batches(scope, text, most_tokens=10**6, longest=tokens)))
    (kind,) = scope.kinds
    plan = Plan(on[kind], features_for(settings.of("corpus"), on, settings.places)[kind])
    return _call_like(scope, on[kind]), plan


def _call_like(scope: Scope, grid: Grid) -> Call:
    about, dtype = scope.description, scope.model.dtype
    dim = about.dims[grid.kind]

    def tensor(heads: int) -> Tensor:
        shape = (*grid.key.ids.shape, heads, dim)
        return torch.empty(shape, dtype=dtype, device=scope.device).transpose(1, 2)

    q = tensor(about.heads[grid.kind])
    k, v = tensor(about.groups[grid.kind]), tensor(about.groups[grid.kind])
    return Call(
        kind=grid.kind, layer=0, read_at="interface", module=scope.model, q=q, k=k, v=v,
        scaling=1.0, bias=None, softcap=None, sinks=None, window=None, causal=grid.causal,
        lazy_mask=Lazy.of(None), lazy_weights=Lazy.of(None),
        lazy_valid=lambda: (grid.query.valid, grid.key.valid),
    )  # fmt: skip
