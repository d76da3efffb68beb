"""Ctrl-C at a chosen moment: before the n-th line of Python that a piece of work runs."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Any


def _signalled(frame: Any) -> None:
    """As Python calls whoever has the signal, amid this frame."""
    handler: Any = signal.getsignal(signal.SIGINT)
    handler(signal.SIGINT, frame)


def _in_destructor(frame: Any) -> bool:
    return frame is not None and (frame.f_code.co_name == "__del__" or _in_destructor(frame.f_back))


def interrupted_at(moment: int | None, work: Callable[[], Any]) -> tuple[BaseException | None, int]:
    """What the work ended with, and how many lines it ran; None for no interrupt."""
    lines = 0
    own = signal.__file__  # nobody is interrupted amid making out that they are

    def each(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if lines == moment and _in_destructor(frame):
                lines -= 1  # there it would come later, when nobody waits for it: the line after
            elif lines == moment:
                _signalled(frame)
        return each

    def enter(frame: Any, event: str, argument: Any) -> Any:
        return None if frame.f_code.co_filename == own else each

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        work()
    except KeyboardInterrupt as stop:
        return stop, lines
    finally:
        sys.settrace(before)
    return None, lines
