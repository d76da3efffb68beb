"""Which doors are open in this thread.

The stack is per thread: two threads may run one model, each with its own sink, or one with none.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from headscope.capture.door import Door


class _Stack(threading.local):
    def __init__(self) -> None:
        self.doors: list[Door] = []
        self.inside_interface = False


stack = _Stack()


def doors_of(module: nn.Module) -> list[Door]:
    """The open doors that watch this module, outermost first."""
    return [door for door in stack.doors if id(module) in door.names]


def every_open_door_is_lazy() -> bool:
    return bool(stack.doors) and all(door.lazy for door in stack.doors)
