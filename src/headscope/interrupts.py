"""Ctrl-C that waits until a change is complete.

Inside these blocks a handler records the first Ctrl-C, which is raised at the block's end or at the
next safe point; a second one is raised at once. Signals reach only the main thread, so in other
threads the blocks do nothing.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator
from typing import Any


class _State:
    """The open blocks in the main thread, and the Ctrl-C received meanwhile."""

    blocks = 0  # of any kind
    holding = 0  # blocks that delay Ctrl-C
    steps = 0  # blocks that delay it at safe points too
    asked = 0  # how often it came and was not raised
    came = False  # since the outermost block was opened
    before: Any = None  # the previous handler


_state = _State()


def uninterrupted() -> contextlib.AbstractContextManager[None]:
    """Delay the first Ctrl-C until the block ends; a second one is raised at once."""
    return _block(holds=True, at_safe_points=False)


def stopped_safely() -> contextlib._GeneratorContextManager[None]:  # pyright: ignore[reportPrivateUsage]
    """Raise the first Ctrl-C at the next `safe_point()` or at the end, a second one at once.

    Also a decorator: the block is then the function.
    """
    return _block(holds=True, at_safe_points=True)


def remembered() -> contextlib.AbstractContextManager[None]:
    """Raise Ctrl-C at once, and remember it: `was_asked()` is true while the block is open.

    Compiled code may turn the KeyboardInterrupt into another error, and Python drops it in
    destructors.
    """
    return _block(holds=False, at_safe_points=False)


def was_asked() -> bool:
    """Whether Ctrl-C has come since the outermost block was opened."""
    return _state.came and threading.current_thread() is threading.main_thread()


def pending() -> bool:
    """Whether a Ctrl-C is delayed now."""
    return bool(_state.asked)


def safe_point() -> None:
    """A point where the work may stop: open `with` blocks undo every change made for it."""
    in_main = threading.current_thread() is threading.main_thread()
    if _state.asked and not _state.steps and in_main:
        _raise()


@contextlib.contextmanager
def _block(*, holds: bool, at_safe_points: bool) -> Generator[None]:
    outermost = not _state.blocks
    if threading.current_thread() is not threading.main_thread() or not _handling():
        yield
        return
    step = holds and not at_safe_points
    try:
        _state.blocks += 1
        _state.steps += step
        _state.holding += holds - outermost  # the outermost was held while it opened
        if _state.asked and not _state.holding:
            _raise()
        yield
    finally:
        _state.holding += 1  # raise nothing during these lines
        _state.blocks -= 1
        _state.steps -= step
        # a generator's block may be closed by another thread, which cannot set a handler
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and not _state.blocks and signal.getsignal(signal.SIGINT) is _on_ctrl_c:
            signal.signal(signal.SIGINT, _state.before)
        _state.came = _state.came and bool(_state.blocks)
        _state.holding -= 1 + holds
        if in_main and _state.asked and not _state.holding:
            _raise()


def _handling() -> bool:
    """Handle the signal for the outermost block, unless it is ignored or left to the system."""
    if _state.blocks:
        return True
    found = signal.getsignal(signal.SIGINT)
    if not callable(found):
        return False
    _state.holding = 1  # raise nothing between here and the block
    _state.steps = _state.asked = 0
    _state.came = False
    if found is not _on_ctrl_c:
        _state.before = found
        signal.signal(signal.SIGINT, _on_ctrl_c)
    return True


def _on_ctrl_c(number: int, frame: object) -> None:
    _state.came = True
    _state.asked += 1
    if _state.asked > 1 or not _state.holding:
        _raise(frame)


def _raise(frame: object = None) -> None:
    """Call the previous handler, which mostly raises KeyboardInterrupt."""
    _state.asked = 0
    _state.before(signal.SIGINT, frame)
