"""Which doors are open in this thread.

The stack is per thread: two threads may run one model, each with its own sink, or one with none.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from headscope.capture.door import Door


class _Stack(threading.local):
    def __init__(self) -> None:
        self.doors: list[Door] = []
        self.tap_closed = False


stack = _Stack()


def doors_of(module: nn.Module) -> list[Door]:
    """The open doors that watch this module, outermost first."""
    return [door for door in stack.doors if door.watches(module)]


def masks_may_be_implied() -> bool:
    """Whether fused attention may be trusted to know a mask nobody has written down."""
    return bool(stack.doors) and all(door.implies_masks for door in stack.doors)


@contextlib.contextmanager
def tap_closed() -> Generator[None]:
    """A softmax taken in here has been read, or will be, by other means."""
    before, stack.tap_closed = stack.tap_closed, True
    try:
        yield
    finally:
        stack.tap_closed = before
