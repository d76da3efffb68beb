"""Which doors are open in this thread.

The stack is per thread: two threads may run one model, each with its own sink, or one with none.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from headscope.capture.door import Door


@dataclass(frozen=True)
class Seen:
    """The last attention computed: its inputs, and its weights or queries after edits."""

    inputs: tuple[weakref.ref[Any], ...]
    replaced: Tensor | None
    queries: Tensor | None
    answered: bool  # a sink gave the output

    @staticmethod
    def of(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        replaced: Tensor | None,
        queries: Tensor,
        answered: bool,
    ) -> Seen:
        others = None if queries is query else queries  # must not keep itself alive
        return Seen(tuple(map(weakref.ref, (module, query, key))), replaced, others, answered)

    def is_same(self, module: nn.Module, query: Tensor, key: Tensor) -> bool:
        """Whether a module computes attention of the very same tensors again."""
        found = [known() for known in self.inputs]
        return all(a is b for a, b in zip(found, (module, query, key), strict=True))


# modules that weigh two sets of values by one softmax (DiffLlama)
asked_twice: weakref.WeakSet[nn.Module] = weakref.WeakSet()


class _Stack(threading.local):
    def __init__(self) -> None:
        self.doors: list[Door] = []
        self.tap_closed = False
        self.last: Seen | None = None
        self.unpadded = False  # the caller says that no text of this pass is padded


stack = _Stack()


def doors_of(module: nn.Module) -> list[Door]:
    """The open doors that watch this module, outermost first."""
    return [door for door in stack.doors if door.watches(module)]


def masks_may_be_implied() -> bool:
    """Whether causal masks may be left to sdpa, which applies them without making the tensor.

    True while every open door is lazy and its model calls nothing but the registered function.
    """
    return bool(stack.doors) and all(door.implies_masks for door in stack.doors)


@contextlib.contextmanager
def known_unpadded(unpadded: bool) -> Generator[None]:
    """Declare that no text of the passes inside is padded; False declares nothing.

    For models of one stack, which make all their masks from the one they are given.
    """
    before, stack.unpadded = stack.unpadded, unpadded
    try:
        yield
    finally:
        stack.unpadded = before


@contextlib.contextmanager
def tap_closed() -> Generator[None]:
    """Inside, the tap ignores softmaxes: their weights are read in another way."""
    before, stack.tap_closed = stack.tap_closed, True
    try:
        yield
    finally:
        stack.tap_closed = before
