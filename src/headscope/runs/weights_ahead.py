"""The fingerprint of weights that is asked for at the end of a pass.

A thread beside one that runs Python waits for its turn at every tensor, longer than the checksums
take; beside a GPU that reads a corpus it has all the time of the pass.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from headscope.runs.identity import ScopeLike, model_fingerprint


def weights_of(scope: ScopeLike) -> Callable[[], str]:
    """Tells the fingerprint when it is called; of a model on a GPU it is made from now on."""
    if not _stay_on_gpu(scope.model):
        return partial(model_fingerprint, scope.model)
    import torch

    made: Future[str] = Future()
    device = next(scope.model.parameters()).device
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))

    def work() -> None:
        try:
            with torch.cuda.stream(stream):  # what the GPU reads is not waited for
                made.set_result(model_fingerprint(scope.model))
        except BaseException as fault:  # raised where the fingerprint is asked for
            made.set_exception(fault)

    threading.Thread(target=work, name="headscope-weights", daemon=True).start()
    return made.result


def _stay_on_gpu(model: Any) -> bool:
    """Whether no weight comes and goes while the model runs, as those of one that is spread do."""
    places = set(getattr(model, "hf_device_map", {}).values())
    weights = list(model.parameters())
    return len(places) <= 1 and bool(weights) and all(one.is_cuda for one in weights)
