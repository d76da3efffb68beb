"""Modes: what a disabled head attends to instead. One file each, found by name.

A mode is a module with a function `instead(call, weights) -> Tensor` that gives the weights a
disabled head gets, broadcastable to b h t s; `weights` is what the caller passed with the mode
(None for most). A mode that needs something of the caller says so in `check(weights)`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

from torch import Tensor

from headscope.capture import Call
from headscope.errors import BadInput

Instead = Callable[[Call, object], Tensor]


@cache
def modes() -> tuple[str, ...]:
    """The names of all modes."""
    return tuple(module.name for module in pkgutil.iter_modules(__path__))


def mode(name: str, weights: object = None) -> Instead:
    """The mode called `name`, once it has accepted what the caller passed with it."""
    if name not in modes():
        raise BadInput(f"There is no mode {name!r}; choose one of {', '.join(modes())}.")
    module = import_module(f"{__name__}.{name}")
    module.check(weights)
    return module.instead
