"""Ctrl-C that waits: a change is made whole, and the interrupt comes after it.

Python raises KeyboardInterrupt between any two of its instructions, so also after a model was
changed for a pass and before anybody noted how to change it back. Inside these blocks it is
raised at known places only. Signals reach the main thread alone; elsewhere nothing has to be done.
"""

from __future__ import annotations

import _thread
import contextlib
import operator
import signal
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
NEAR = 8  # calls between such a function and what the signal module does for it
SOON = 0.005  # seconds in which a destructor has mostly ended
PATIENCE = 2.0  # seconds that a block may go on after Ctrl-C; the next one is then raised at once


_whole: set[CodeType] = set()


def made_whole(function: Function) -> Function:
    """A function that puts things back: Ctrl-C waits, from its first line to its last."""
    _whole.add(function.__code__)
    return function


class Block(contextlib.ContextDecorator):
    """A block, or as a decorator a function, in which Ctrl-C is dealt with in a way of its own."""

    def __init__(self, *, holds: bool, at_safe_points: bool = False) -> None:
        self.holds, self.at_safe_points = holds, at_safe_points

    @made_whole
    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            _ctrl_c.enter(self)
            if _ctrl_c.asked and not _holding(_ctrl_c.blocks):  # it came amid these lines
                _ctrl_c.leave(self)

    @made_whole
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
    and in the callback of a weak reference Python itself drops it.
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
        self.blocks: list[Block] = []  # innermost last
        self._before: Any = None
        self._outer: list[tuple[Any, list[Block]]] = []  # what was so before our last coming
        self._handler = self._on_signal  # one object, so that it is known again

    @made_whole
    def enter(self, block: Block) -> None:
        found = signal.getsignal(signal.SIGINT)
        if found is self._handler:
            self.blocks.append(block)
        elif callable(found):  # otherwise it is ignored, or left to the system
            self._outer.append((self._before, self.blocks))  # whoever took our place has ours back
            self._before, self.asked = found, 0
            self.blocks = [block]  # interrupted here, the block is one that nobody asks about
            signal.signal(signal.SIGINT, self._handler)  # from now on nothing is raised but by us

    @made_whole
    def leave(self, block: Block) -> None:
        """Blocks of generators may end in any order, and in any thread."""
        for _, blocks in self._outer:
            _remove(blocks, block)
        left = list(self.blocks)
        _remove(left, block)
        if len(left) == len(self.blocks):
            return
        if threading.current_thread() is not threading.main_thread():
            self.blocks = left
            return
        holding, before = _holding(left), self._before
        if left:
            self.blocks = left
        else:
            if signal.getsignal(signal.SIGINT) is self._handler:
                signal.signal(signal.SIGINT, before)
            self._before, self.blocks = self._outer.pop()
        self.came = self.came and len(_holding(self.blocks)) < len(self.blocks)
        if self.asked and (not holding or (self.asked > 1 and not holding[-1].at_safe_points)):
            self.asked = 0
            before(signal.SIGINT, None)

    def at_safe_point(self) -> None:
        holding = _holding(self.blocks)
        if not holding or not holding[-1].at_safe_points:
            return
        if self.asked > 1 or all(one.at_safe_points for one in holding):
            self._raise()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if _in_destructor(frame):
            _thread.start_new_thread(_come_again, ())  # which takes no lock that may be held here
            return
        holding, now = _holding(self.blocks), time.monotonic()
        self.asked += 1
        self.came = len(holding) < len(self.blocks)
        if _puts_back(frame):
            return
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


def _come_again() -> None:
    time.sleep(SOON)
    if hasattr(signal, "pthread_kill"):  # a signal proper ends what the main thread waits for
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _in_destructor(frame: FrameType | None) -> bool:
    """Where Python would drop what is raised, and print it."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _puts_back(frame: FrameType | None) -> bool:
    """Whether a function that is made whole runs here, or has just called this."""
    for _ in range(NEAR):
        if frame is None:
            return False
        if frame.f_code in _whole:
            return True
        frame = frame.f_back
    return False


@made_whole
def _holding(blocks: list[Block]) -> list[Block]:
    return list(filter(operator.attrgetter("holds"), blocks))


@made_whole
def _remove(blocks: list[Block], block: Block) -> None:
    if block in blocks:
        blocks.remove(block)


_ctrl_c = _CtrlC()
