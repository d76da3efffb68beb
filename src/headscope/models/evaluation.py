"""Run a model without dropout and with its own Python code, as measuring requires.

Every reading, survey, probe and edit runs inside `evaluating`. Afterwards each module gets its
former mode; passes of several threads are counted, and the last one restores it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Generator
from dataclasses import dataclass
from typing import Any

from torch import nn

from headscope.interrupts import stopped_safely

_lock = threading.Lock()


@dataclass
class _Running:
    model: nn.Module
    found_training: list[nn.Module]
    compiled: bool  # in whole or in part
    passes: int = 0  # under way


_running: dict[int, _Running] = {}  # by the id of the model


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Generator[None]:
    """The model in evaluation mode, run eagerly, while the block lasts."""
    with stopped_safely(), _without_dropout(model) as running, _eagerly(running.compiled):
        yield


@contextlib.contextmanager
def _without_dropout(model: nn.Module) -> Generator[_Running]:
    running = None
    try:
        with _lock:
            running = _running.setdefault(id(model), _running.get(id(model)) or _found(model))
            running.passes += 1
            for module in running.found_training:
                module.training = False
        yield running
    finally:
        with _lock:
            if running is not None:
                running.passes -= 1
            if running is not None and not running.passes:
                for module in running.found_training:
                    module.training = True
                _running.pop(id(model), None)


def _found(model: nn.Module) -> _Running:
    # a large model has hundreds of modules, and a GPU waits during the loop
    modules = list(model.modules())
    found_training = [module for module in modules if module.training]
    return _Running(model, found_training, any(_is_compiled(one) for one in modules))


def _is_compiled(module: nn.Module) -> bool:
    """`model.compile()` compiles a module in place; `torch.compile(part)` puts a wrapper around."""
    in_place = getattr(module, "_compiled_call_impl", None) is not None
    return in_place or hasattr(module, "_orig_mod")


def _eagerly(compiled: bool) -> contextlib.AbstractContextManager[object]:
    """Compiled code does not call headscope's attention function, so such parts run as Python."""
    if not compiled:
        return contextlib.nullcontext()
    import torch

    return torch.compiler.set_stance("force_eager")


# Models that compare pictures with texts (CLIP, SigLIP) have two towers, each readable alone.


def tower_for(model: Any, given: Collection[str]) -> Any:
    """The module that reads inputs of these names: one tower if the other has no input."""
    reads, sees = getattr(model, "text_model", None), getattr(model, "vision_model", None)
    if reads is None or sees is None or ("pixel_values" in given) == ("input_ids" in given):
        return model
    return sees if "pixel_values" in given else reads
