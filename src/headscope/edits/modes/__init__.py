"""Modes: what a disabled head attends to instead. One file each, found by name.

A mode is a module with a function `instead(call, weights) -> Tensor` that gives the weights a
disabled head gets, broadcastable to b h t s; `weights` is what the caller passed with the mode
(None for most). A mode that needs something of the caller says so in `check(weights)`. One that can
do without maps has `without_maps(call, off, weights)`: the queries that make these heads attend so,
or the attention itself made when it is asked for, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import torch
from torch import Tensor

from headscope.capture import Again, Call, Queries
from headscope.capture.call import allowed
from headscope.discovery import names
from headscope.errors import BadInput

Instead = Callable[[Call, object], Tensor]


def modes() -> tuple[str, ...]:
    """The names of all modes."""
    return names(__name__)


def mode(name: str, weights: object = None) -> Instead:
    """The mode called `name`, once it has accepted what the caller passed with it."""
    if name not in modes():
        raise BadInput(f"There is no mode {name!r}; choose one of {', '.join(modes())}.")
    module = import_module(f"{__name__}.{name}")
    module.check(weights)
    return module.instead


def without_maps(
    name: str, call: Call, off: Sequence[int], weights: object
) -> Queries | Again | None:
    """What a mode has long texts attend with in place of maps, where it can."""
    found = getattr(import_module(f"{__name__}.{name}"), "without_maps", None)
    return None if found is None else found(call, off, weights)


# Which keys each query of a call may look at.


def visible_keys(call: Call) -> Tensor:
    """b|1 1|h t s, True where the model lets a query look: real keys, not the future.

    A dense mask says it all. Without one, what remains is the causal order and the window, both
    counted from the end, because in generation the queries are the last tokens of the keys.
    """
    if call.mask is not None:
        return allowed(call.mask)
    queries, keys = call.weights.shape[2:]
    device = call.weights.device
    position = torch.arange(keys - queries, keys, device=device)[:, None]
    key = torch.arange(keys, device=device)[None, :]
    seen = torch.ones(queries, keys, dtype=torch.bool, device=device)
    if call.causal and call.kind != "cross":
        seen &= key <= position
    if call.window is not None:
        seen &= (position - key).abs() < call.window
    return seen[None, None] & call.valid_keys[:, None, None, :]
