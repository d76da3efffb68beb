"""The fingerprint of weights, computed during a pass and needed at its end.

Beside a thread that runs Python, a second thread waits at every tensor for longer than the
checksums take; beside a GPU that reads a corpus it has the time of the whole pass.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from headscope.runs.identity import ScopeLike, model_fingerprint


def weights_of(scope: ScopeLike) -> Callable[[], str]:
    """A function that returns the fingerprint; for a model on a GPU, computing starts now."""
    if not _stay_on_gpu(scope.model):
        return partial(model_fingerprint, scope.model)
    import torch

    made: Future[str] = Future()
    device = next(scope.model.parameters()).device
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))

    def work() -> None:
        try:
            with torch.cuda.stream(stream):  # does not wait for the corpus's work on the GPU
                made.set_result(model_fingerprint(scope.model))
        except BaseException as fault:  # raised when the fingerprint is needed
            made.set_exception(fault)

    threading.Thread(target=work, name="headscope-weights", daemon=True).start()
    return made.result


def _stay_on_gpu(model: Any) -> bool:
    """Whether all weights stay on the GPU during a pass, unlike offloaded ones."""
    places = set(getattr(model, "hf_device_map", {}).values())
    weights = list(model.parameters())
    return len(places) <= 1 and bool(weights) and all(one.is_cuda for one in weights)
