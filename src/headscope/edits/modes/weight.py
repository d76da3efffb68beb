"""Weight: some weights of a head set by hand, the row's others scaled to keep its sum.

`weights` is ((query, key, weight), …), tokens counted from 0. While a model generates, a query read
before keeps its edited result in the cache.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor

from headscope.capture import Call
from headscope.edits.modes import visible_keys
from headscope.errors import BadInput

Given = tuple[tuple[int, int, float], ...]


def check(weights: object) -> None:
    given: tuple[object, ...] = (
        cast("tuple[object, ...]", weights) if isinstance(weights, tuple) else ()
    )
    if not given or not all(_is_one(one) for one in given):
        raise BadInput(
            "Weights set by hand are ((query, key, weight), …) with weights from 0 to 1, such as "
            f"((5, 2, 0.8),), not {weights!r}."
        )
    rows: dict[int, float] = {}
    for query, _, weight in cast("Given", given):
        rows[query] = rows.get(query, 0.0) + weight
    if max(rows.values()) > 1 + 1e-6:
        raise BadInput("The weights set in one row sum to more than 1; lower one of them.")


def _is_one(one: object) -> bool:
    if not isinstance(one, tuple) or len(cast("tuple[object, ...]", one)) != 3:
        return False
    query, key, weight = cast("tuple[object, object, object]", one)
    numbers = all(type(at) is int and at >= 0 for at in (query, key))
    return numbers and type(weight) in (int, float) and 0 <= cast("float", weight) <= 1


def instead(call: Call, weights: object) -> Tensor:
    made = call.weights.clone()
    queries, keys = made.shape[2:]
    before = 0 if call.kind == "cross" else keys - queries  # read already, in the cache
    seen = visible_keys(call)
    rows: dict[int, dict[int, float]] = {}
    for query, key, weight in cast("Given", weights):
        rows.setdefault(query - before, {})[key] = float(weight)
    for row, given in rows.items():
        if not 0 <= row < queries:
            continue
        at = list(given)
        if max(at) >= keys or not bool(seen[..., row, :][..., at].all()):
            raise BadInput(
                f"Token {row + before} does not see token {max(at)} in this layer; set a weight on "
                "a token that it sees."
            )
        own = made[:, :, row]  # b h s
        wanted = own.new_tensor([given[key] for key in at])
        whole = own.sum(-1, keepdim=True)
        rest = own.clone()
        rest[..., at] = 0
        total = rest.sum(-1, keepdim=True)
        # no other key to attend to: the row is unchanged
        least = torch.finfo(own.dtype).tiny
        share = (1 - math.fsum(given.values())) * whole / total.clamp(min=least)
        changed = rest * share.clamp(min=0)
        changed[..., at] = wanted * whole
        made[:, :, row] = torch.where(total > least, changed, own)
    return made
