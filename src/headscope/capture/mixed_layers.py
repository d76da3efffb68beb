"""Which layer of a hybrid model is running: only some of its layers attend.

Where all layers of a stack are made alike, calls are counted. Where they differ (Jamba, Qwen3-Next,
Zamba, …), the layers say by themselves that they run, and a call gets the model's own number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from torch import nn

_ATTENTION = re.compile(r"att", re.I)
_known: WeakKeyDictionary[nn.Module, list[nn.ModuleList]] = WeakKeyDictionary()


def watch_layers(model: nn.Module, running: Callable[[int | None], None]) -> list[Any]:
    """Hooks that tell the number of each layer as it starts, and None as it ends."""
    if model not in _known:
        _known[model] = mixed_stacks(model)
    handles: list[Any] = []
    for stack in _known[model]:
        for number, layer in enumerate(stack):

            def enter(module: nn.Module, arguments: Any, number: int = number) -> None:
                running(number)

            def leave(module: nn.Module, arguments: Any, output: Any) -> None:
                running(None)

            handles.append(layer.register_forward_pre_hook(enter))
            handles.append(layer.register_forward_hook(leave, always_call=True))
    return handles


def mixed_stacks(model: nn.Module) -> list[nn.ModuleList]:
    """The lists of layers that differ in what they are made of, some of which attend.

    Stages that hold lists of layers of their own (Swin) are none: there, calls are counted.
    """
    lists = [one for one in model.modules() if isinstance(one, nn.ModuleList) and _attends(one)]
    inside = {id(inner) for outer in lists for inner in outer.modules() if inner is not outer}
    staged = {id(outer) for outer in lists for inner in lists if _holds(outer, inner)}
    return [one for one in lists if id(one) not in inside and id(one) not in staged and _mixed(one)]


def _mixed(stack: nn.ModuleList) -> bool:
    made_of = [Counter(type(part).__name__ for part in layer.modules()) for layer in stack]
    return any(one != made_of[0] for one in made_of)


def _attends(module: nn.Module) -> bool:
    return any(_ATTENTION.search(type(part).__name__) for part in module.modules())


def _holds(outer: nn.Module, inner: nn.Module) -> bool:
    return inner is not outer and any(part is inner for part in outer.modules())
