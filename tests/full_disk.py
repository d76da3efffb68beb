"""A disk that is full, as a program meets it: no file may grow beyond so many bytes."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Generator


@contextlib.contextmanager
def full_beyond(most: int) -> Generator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    silent = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, silent)
