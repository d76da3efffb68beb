"""Work that somebody else may stop: looked for between the layers of a pass."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator

from headscope.errors import HeadscopeError


class Interrupted(HeadscopeError):
    """The work was taken back before it was done."""


class _Watched(threading.local):
    stop: threading.Event | None = None


_watched = _Watched()


@contextlib.contextmanager
def interruptible(stop: threading.Event) -> Generator[None]:
    """Readings taken inside end with `Interrupted` once the event is set."""
    before, _watched.stop = _watched.stop, stop
    try:
        check()
        yield
    finally:
        _watched.stop = before


def check() -> None:
    if _watched.stop is not None and _watched.stop.is_set():
        raise Interrupted("The reading was cancelled.")
