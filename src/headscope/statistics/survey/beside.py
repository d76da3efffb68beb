"""Work on a GPU beside its next batch, on a stream of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch


def beside(device: torch.device, work: Callable[[], None]) -> Callable[[], None]:
    """The work, to be done later: on a GPU it waits for what was given to the device before now,
    not for what comes after, and is done when it returns."""
    if device.type != "cuda":
        return work
    ready = torch.cuda.Event()
    ready.record()

    def done() -> None:
        stream = _stream(device)
        with torch.cuda.stream(stream):
            stream.wait_event(ready)
            work()
            # what the work read may be freed from here on, and what it wrote may be read elsewhere
            stream.synchronize()

    return done


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device, priority=-1)  # its steps are many and small: they go first
