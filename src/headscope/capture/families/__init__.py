"""Families whose attention needs translating: one file each, found by looking in this folder.

A family file has `taps(module) -> context manager | None`: what to do to one module of a model
during a capture. It returns None if the module is not of its family, and raises an error if what
the module computes cannot be shown truthfully. Other packages add such modules through the entry
point group `headscope.families`. A file with `PLAIN_TORCH` is for models outside transformers;
those inside use torch's own attention only for a pooler. A file with `withholds_values(module) ->
bool` names modules whose v cannot be read even if a trial on a few tokens succeeds: long texts may
take another path.
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
    """The name of a model, which is the first of its modules."""
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
    """Whether some module of the model belongs to a family whose values cannot always be read."""
    asked = [one.withholds_values for one in _families() if hasattr(one, "withholds_values")]
    return any(withholds(module) for module in model.modules() for withholds in asked)


def _of_transformers(model: nn.Module) -> bool:
    from transformers import PreTrainedModel

    return isinstance(model, PreTrainedModel)


@functools.cache
def _families() -> list[ModuleType]:
    return modules_of(__name__, GROUP)
