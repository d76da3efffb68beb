"""The kernel of whole rows beside the plain one.

Every width of rows and every choice of features takes a version of the kernel of its own, and no
machine has run them all. The first time a process uses one, two texts go through both kernels.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.statistics.features.feature import RankFeature
from headscope.statistics.kernels import blocks, row_tiles
from headscope.statistics.kernels.plan import Plan
from headscope.statistics.kernels.usable import Disagreement, wrong

TEXTS = 2
APART = 1e-3  # of the largest value: far above rounding, far below a wrong mask or place
FLIPPED = 0.02  # of rows, where two keys of all but equal weight may change places

_compared: set[tuple[object, ...]] = set()


def compared(call: Call, plan: Plan, keeps: bool = False) -> None:
    """Raise where the kernel's numbers are not the plain ones; asked once for each version, which
    is also one that `keeps` rows or does not."""
    assert call.q is not None and call.k is not None and call.v is not None
    keys = call.k.shape[2]
    kind = (row_tiles.width(keys), keys % 16 == 0, plan.grid.causal, keeps)
    version = (*kind, call.q.device, *plan.names)
    if version in _compared:
        return
    some = slice(0, TEXTS)
    bias = call.bias if call.bias is None or call.bias.shape[0] == 1 else call.bias[some]
    few = replace(call, q=call.q[some], k=call.k[some], v=call.v[some], bias=bias)
    own = Plan(plan.grid.of_documents(some), plan.features)
    none = row_tiles.Slots(torch.full_like(own.grid.query.ids, -1, dtype=torch.int32), 1)
    mine, _, _ = row_tiles.from_scores(few, own, none if keeps else None)
    plain, _ = blocks.from_scores(few, own)
    valid = own.grid.query.valid[:, None]
    places = {name: place for place, name in enumerate(own.names)}
    loose = [f.name for f in own.rows if isinstance(f, RankFeature) or f.name == "strongest_key"]
    for name, place in places.items():
        differs = wrong(mine.values[:, :, place], plain.values[:, :, place], valid, APART)
        _judge(name, keys, differs, name in loose)
    for name, values in mine.wide.items():
        differs = wrong(values, plain.wide[name], valid[..., None], APART)
        _judge(name, keys, differs, loose=False)
    _compared.add(version)


def _judge(name: str, keys: int, differs: Tensor, loose: bool) -> None:
    share = float(differs.float().mean())
    if share > (FLIPPED if loose else 0.0):
        raise Disagreement(f"{name} of rows of {keys} keys is not what the plain kernel gives")
