"""Ctrl-C that waits: a change is made whole, and the interrupt comes after it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator


@contextlib.contextmanager
def uninterrupted() -> Generator[None]:
    """Hold the first Ctrl-C back until the block ends; a second one is not held.

    Signals reach the main thread only, so elsewhere nothing has to be done.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held = False

    def hold(number: int, frame: object) -> None:
        nonlocal held
        if held:
            raise KeyboardInterrupt
        held = True

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt
