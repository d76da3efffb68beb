"""Whether all attention of a model goes through the registered function.

Only then may a mask be left out where the fused attention implies it: a module that takes its
own softmax would silently see the future, and so would one that does not say it is causal.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from types import CodeType, FunctionType

from torch import nn

_ATTENTION = re.compile(r"att", re.I)
_DISPATCH = "ALL_ATTENTION_FUNCTIONS"


def only_interface(modules: Iterable[nn.Module]) -> bool:
    dispatching = False
    for module in modules:
        found = _attention_names(module)
        dispatches = _DISPATCH in found
        # GPT-2 has both ways, and takes its own softmax only when told to compute it upcast
        own = not dispatches or getattr(module, "reorder_and_upcast_attn", True)
        if own and any("softmax" in name.lower() for name in found):
            return False
        dispatching |= dispatches
    return dispatching


def says_what_is_causal(modules: Iterable[nn.Module]) -> bool:
    """Whether a mask that was left out can be told from none.

    A family that runs sdpa has to say of each module whether it is causal. One that does not may
    leave it to its masks, as the decoder of BigBird-Pegasus does.
    """
    from transformers import PreTrainedModel

    every = list(modules)
    attending = [one for one in every if _DISPATCH in _attention_names(one)]
    if any(not hasattr(one, "is_causal") for one in attending):
        return False
    runs_sdpa = all(
        getattr(one, "_supports_sdpa", False) for one in every if isinstance(one, PreTrainedModel)
    )
    return runs_sdpa or all(one.is_causal for one in attending)


def _attention_names(module: nn.Module) -> set[str]:
    return _names(type(module)) if _ATTENTION.search(type(module).__name__) else set()


@functools.cache
def _names(kind: type) -> set[str]:
    """Every name the methods of a class use."""
    found: set[str] = set()
    for base in kind.__mro__:
        if base is nn.Module:
            break
        for method in vars(base).values():
            function = getattr(method, "__wrapped__", method)
            if isinstance(function, FunctionType):
                found |= _used(function.__code__)
    return found


def _used(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*(_used(one) for one in inner))
