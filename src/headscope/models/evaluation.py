"""Run a model as a measuring instrument must: without dropout, and with its own Python code.

Every reading, survey, probe and edit runs inside `evaluating`. Each module gets back the mode it
was found in; the passes of several threads are counted, so the last one out puts it back.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator

from torch import nn

from headscope.interrupts import stopped_safely

_lock = threading.Lock()
# id of a model -> the model, passes under way, the modules that were found in training mode
_running: dict[int, tuple[nn.Module, int, list[nn.Module]]] = {}


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Generator[None]:
    """The model in evaluation mode, run eagerly, while the block lasts."""
    with stopped_safely(), _without_dropout(model), _eagerly(model):
        yield


@contextlib.contextmanager
def _without_dropout(model: nn.Module) -> Generator[None]:
    with _lock:
        _, passes, found_training = _running.get(id(model), (model, 0, []))
        if not passes:
            found_training = [module for module in model.modules() if module.training]
            for module in found_training:
                module.training = False
        _running[id(model)] = (model, passes + 1, found_training)
    try:
        yield
    finally:
        with _lock:
            _, passes, found_training = _running.pop(id(model))
            if passes > 1:
                _running[id(model)] = (model, passes - 1, found_training)
            else:
                for module in found_training:
                    module.training = True


def _eagerly(model: nn.Module) -> contextlib.AbstractContextManager[object]:
    """Compiled code calls no attention function of ours, so parts that are compiled run as Python.

    `model.compile()` compiles a module in place; `torch.compile(part)` puts a wrapper around it.
    """
    if not any(
        getattr(module, "_compiled_call_impl", None) is not None or hasattr(module, "_orig_mod")
        for module in model.modules()
    ):
        return contextlib.nullcontext()
    import torch

    return torch.compiler.set_stance("force_eager")
