"""Ctrl-C that waits: a change is made whole, and the interrupt comes after it.

Python raises KeyboardInterrupt between any two of its instructions, so also after a model was
changed for a pass and before anybody noted how to change it back. Inside these blocks it is
raised at known places only. Signals reach the main thread alone; elsewhere nothing has to be done.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from typing import Any

PATIENCE = 2.0  # seconds that a block may go on after Ctrl-C; the next one is then raised at once


class Block(contextlib.ContextDecorator):
    """A block, or as a decorator a function, in which Ctrl-C is dealt with in a way of its own."""

    def __init__(self, *, holds: bool, at_safe_points: bool = False) -> None:
        self.holds, self.at_safe_points = holds, at_safe_points

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            _ctrl_c.enter(self)

    def __exit__(self, *_: object) -> None:
        _ctrl_c.leave(self)

    def _recreate_cm(self) -> Block:  # a decorated function has one block for every call
        return Block(holds=self.holds, at_safe_points=self.at_safe_points)


def uninterrupted() -> Block:
    """Hold the first Ctrl-C back until the block ends; a second one is not held."""
    return Block(holds=True)


def stopped_safely() -> Block:
    """Ctrl-C is raised at the next `safe_point()` or at the end, so that all is put back."""
    return Block(holds=True, at_safe_points=True)


def remembered() -> Block:
    """Ctrl-C is raised at once, and `was_asked()` knows of it while such a block is open.

    Compiled code may take the KeyboardInterrupt for a fault of its own and raise another error,
    and in a destructor Python itself drops it.
    """
    return Block(holds=False)


def was_asked() -> bool:
    """Whether Ctrl-C has come since the outermost `remembered` block was opened."""
    return _ctrl_c.came and threading.current_thread() is threading.main_thread()


def pending() -> bool:
    """Whether a Ctrl-C is being held back now."""
    return bool(_ctrl_c.asked)


def safe_point() -> None:
    """Here the work may be stopped: whatever was changed for it is known to those around."""
    if _ctrl_c.asked and threading.current_thread() is threading.main_thread():
        _ctrl_c.at_safe_point()


class _CtrlC:
    """The handler of this process while any block is open, and who has one open."""

    def __init__(self) -> None:
        self.asked = 0  # how often Ctrl-C has come and not been raised
        self.came = False
        self._since = 0.0
        self._blocks: list[Block] = []  # innermost last
        self._before: Any = None
        self._handler = self._on_signal  # one object, so that it is known again

    def enter(self, block: Block) -> None:
        found = signal.getsignal(signal.SIGINT)
        if found is self._handler:
            self._blocks.append(block)
        elif callable(found):  # otherwise it is ignored, or left to the system
            self._before, self.asked, self.came = found, 0, False
            self._blocks = [block]  # interrupted here, the block is one that nobody asks about
            signal.signal(signal.SIGINT, self._handler)  # from now on nothing is raised but by us

    def leave(self, block: Block) -> None:
        """Blocks of generators may end in any order, and in any thread."""
        left = [one for one in self._blocks if one is not block]
        if len(left) == len(self._blocks):
            return
        if threading.current_thread() is not threading.main_thread():
            self._blocks = left
            return
        if not left and signal.getsignal(signal.SIGINT) is self._handler:
            signal.signal(signal.SIGINT, self._before)
        self._blocks = left
        self.came = self.came and any(not one.holds for one in left)
        holding = self._holding()
        if self.asked and (not holding or (self.asked > 1 and not holding[-1].at_safe_points)):
            self._raise()

    def at_safe_point(self) -> None:
        holding = self._holding()
        if not holding or not holding[-1].at_safe_points:
            return
        if self.asked > 1 or all(one.at_safe_points for one in holding):
            self._raise()

    def _holding(self) -> list[Block]:
        return [one for one in self._blocks if one.holds]

    def _on_signal(self, number: int, frame: object) -> None:
        self.asked += 1
        self.came = any(not one.holds for one in self._blocks)
        holding, now = self._holding(), time.monotonic()
        if holding and self.asked == 1:
            self._since = now
            return
        if holding and holding[-1].at_safe_points and now < self._since + PATIENCE:
            return
        self._raise(frame)

    def _raise(self, frame: object = None) -> None:
        """As whoever had the signal before would have it."""
        self.asked = 0
        self._before(signal.SIGINT, frame)


_ctrl_c = _CtrlC()
