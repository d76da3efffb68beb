"""Changes to a model that only the current thread sees.

A model may be used by several threads at once: two readings, or a reading beside the user's own
`model(**inputs)`. So a replaced forward, or a hook, works only in the thread that installed it.
Every other thread runs the module's own code.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from torch import nn

Forward = Callable[..., Any]


@dataclass
class _Replaced:
    """A module whose forward first checks whether the current thread has a replacement."""

    module: nn.Module
    found: Forward | None  # a forward set on the object, as by accelerate
    own: Forward
    by_thread: dict[int, list[Forward]] = field(default_factory=dict[int, list[Forward]])

    def current(self) -> Forward:
        here = self.by_thread.get(threading.get_ident())
        return here[-1] if here else self.own


_lock = threading.Lock()
_replaced: dict[int, _Replaced] = {}  # by the id of the module


@contextlib.contextmanager
def standing_in(module: nn.Module, forward: Forward) -> Generator[None]:
    """Run `forward` when this thread calls `module`, then restore the module."""
    thread = threading.get_ident()
    entry: _Replaced | None = None
    try:
        with _lock:
            entry = _replaced.get(id(module)) or _replace(module)
            entry.by_thread.setdefault(thread, []).append(forward)
        yield
    finally:
        with _lock:
            if entry is not None:
                _put_back(entry, thread, forward)


def _replace(module: nn.Module) -> _Replaced:
    entry = _Replaced(module, module.__dict__.get("forward"), module.forward)

    @functools.wraps(entry.own)  # libraries inspect the signature
    def forward(*args: Any, **kwargs: Any) -> Any:
        return entry.current()(*args, **kwargs)

    _replaced[id(module)] = entry
    module.forward = forward
    return entry


def _put_back(entry: _Replaced, thread: int, forward: Forward) -> None:
    here = [one for one in entry.by_thread.pop(thread, []) if one is not forward]
    if here:
        entry.by_thread[thread] = here
    if not entry.by_thread:
        _replaced.pop(id(entry.module), None)
        entry.module.__dict__.pop("forward", None)
        if entry.found is not None:
            entry.module.forward = entry.found


def forward_of(module: nn.Module) -> Forward:
    """The function that this thread runs for `module`, for a replacement to call.

    `module.forward` is not: while another thread replaces the module, it dispatches by the calling
    thread, and would call the new replacement.
    """
    with _lock:
        entry = _replaced.get(id(module))
        return module.forward if entry is None else entry.current()


def only_here(hook: Forward) -> Forward:
    """The hook, ignoring passes of other threads."""
    thread = threading.get_ident()

    def heard(*given: Any, **named: Any) -> Any:
        return hook(*given, **named) if threading.get_ident() == thread else None

    return heard
