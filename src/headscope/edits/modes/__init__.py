"""Modes: what a disabled head attends to instead. Each is a file, found by name.

A mode is a module with a function `instead(call, weights) -> Tensor` that returns a disabled head's
weights, broadcastable to b h t s; `weights` is what the caller passed with the mode (None for
most). `check(weights)` raises an error if a mode lacks an argument. A mode that needs no maps has
`without_maps(call, off, weights)`: it returns queries that make these heads attend so, or the
attention itself, computed on use, or None.
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
    """The mode called `name`, after its check of what the caller passed."""
    if name not in modes():
        raise BadInput(f"There is no mode {name!r}; choose one of {', '.join(modes())}.")
    module = import_module(f"{__name__}.{name}")
    module.check(weights)
    return module.instead


def without_maps(
    name: str, call: Call, off: Sequence[int], weights: object
) -> Queries | Again | None:
    """A mode's replacement for maps on long texts, if it has one."""
    found = getattr(import_module(f"{__name__}.{name}"), "without_maps", None)
    return None if found is None else found(call, off, weights)


# Which keys each query of a call may attend to.


def visible_keys(call: Call) -> Tensor:
    """b|1 1|h t s, True for keys that a query may attend to: real ones, not the future.

    A dense mask suffices. Without one, the causal order and the window apply, both counted from the
    end, because in generation the queries are the last tokens of the keys.
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
