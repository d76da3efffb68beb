"""Families whose attention needs translating: one file each, found by looking in this folder.

A family file has `taps(module) -> context manager | None`: what to do, for the length of a
capture, to one module of a model; None when the module is not of its family, and an error where
what it computes cannot be shown honestly. Other packages add
such modules through the entry point group `headscope.families`. One with `PLAIN_TORCH` is for
models outside transformers: those inside that use torch's own attention do so for a pooler. One
with `withholds_values(module) -> bool` says of which modules v cannot be had whatever a trial on
a few tokens shows: short texts may go another way than long ones.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator, Sequence
from types import ModuleType

from torch import nn

from headscope.discovery import modules as modules_of

GROUP = "headscope.families"


@contextlib.contextmanager
def taps(modules: Sequence[nn.Module]) -> Generator[None]:
    """Of a model, which is the first of its modules."""
    with contextlib.ExitStack() as undo:
        for family in _families():
            if getattr(family, "PLAIN_TORCH", False) and _of_transformers(modules[0]):
                continue
            for module in modules:
                tap = family.taps(module)
                if tap is not None:
                    undo.enter_context(tap)
        yield


def withholds_values(model: nn.Module) -> bool:
    """Whether some module of the model is of a family whose values are not always to be had."""
    asked = [one.withholds_values for one in _families() if hasattr(one, "withholds_values")]
    return any(withholds(module) for module in model.modules() for withholds in asked)


def _of_transformers(model: nn.Module) -> bool:
    from transformers import PreTrainedModel

    return isinstance(model, PreTrainedModel)


@functools.cache
def _families() -> list[ModuleType]:
    return modules_of(__name__, GROUP)
