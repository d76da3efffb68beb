"""Changes to a model that only the thread which made them sees.

A model may be used by several threads at once: two readings, or a reading beside the user's own
`model(**inputs)`. What stands in for a module's forward, and what hooks do, is therefore bound to
the thread that put it there. Every other thread runs the module's own code.
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
    """A module whose forward looks first whether its thread has another one to run."""

    module: nn.Module
    found: Forward | None  # a forward of the object's own, as accelerate puts there
    own: Forward
    by_thread: dict[int, list[Forward]] = field(default_factory=dict[int, list[Forward]])

    def current(self) -> Forward:
        here = self.by_thread.get(threading.get_ident())
        return here[-1] if here else self.own


_lock = threading.Lock()
_replaced: dict[int, _Replaced] = {}  # by the id of the module


@contextlib.contextmanager
def standing_in(module: nn.Module, forward: Forward) -> Generator[None]:
    """Run `forward` wherever this thread calls `module`, then leave the module as it was."""
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

    @functools.wraps(entry.own)  # signatures are looked at
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
    """What this thread runs where it calls `module`: to be called by what will stand in for it.

    `module.forward` is not that: while another thread stands in for the module, it asks each time
    who is calling, and would find what was put there in the meantime.
    """
    with _lock:
        entry = _replaced.get(id(module))
        return module.forward if entry is None else entry.current()


def only_here(hook: Forward) -> Forward:
    """The hook, deaf to passes of other threads."""
    thread = threading.get_ident()

    def heard(*given: Any, **named: Any) -> Any:
        return hook(*given, **named) if threading.get_ident() == thread else None

    return heard
