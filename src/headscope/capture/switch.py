"""Point a model's configurations at our attention function, and back.

Configurations may be shared (two models built from one object, two threads with one model), so each
knows who holds it: the first door to open switches it, the last to close puts it back. If closing a
door was interrupted, its frame is gone, and the next use restores what it left switched.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from torch import nn


class _Name(str):
    """Our name in every table, but "eager" to a model that asks how it runs.

    DeepSeek-V3.2 and its kin choose keys by a mask only where their configuration says "eager" or
    "sdpa", and would otherwise be read with every key in sight.
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or other == "eager"


# a name with "sdpa", "flash" or "/" in it would be hijacked by the dispatcher
NAME = _Name("headscope")


class _Holder:
    """A token for one open door; it lives as long as the door's frame."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()


@dataclass
class _Switched:
    configuration: Any
    original: str | None
    holders: WeakSet[_Holder] = field(default_factory=WeakSet[_Holder])


_lock = threading.RLock()
_switched: dict[int, _Switched] = {}  # by the configuration's id


@contextlib.contextmanager
def switched(modules: Iterable[nn.Module], name: str = NAME) -> Generator[None]:
    """Every configuration of these modules names our attention function, or another one."""
    heal()
    configurations, holder = _configurations(modules), _Holder()
    try:
        with _lock:
            for one in configurations:
                found = _Switched(one, one._attn_implementation_internal)
                _switched.setdefault(id(one), found).holders.add(holder)
                one._attn_implementation_internal = name
        yield
    finally:
        with _lock:
            for one in configurations:
                if (entry := _switched.get(id(one))) is not None:
                    entry.holders.discard(holder)
            heal()


def heal() -> None:
    """Put back every configuration that no door holds."""
    with _lock:
        for entry in [one for one in _switched.values() if not one.holders]:
            entry.configuration._attn_implementation_internal = entry.original
            del _switched[id(entry.configuration)]


def running_implementation(configuration: object) -> str | None:
    """The attention that the model runs without any door."""
    with _lock:  # a door of another thread may close between the two reads
        entry = _switched.get(id(configuration))
        found = getattr(configuration, "_attn_implementation", None)
        return found if entry is None else entry.original


def found_by_others(configuration: object) -> str | None:
    """The attention this thread runs while the configuration names our function, or just did.

    Doors of other threads open and close during a pass, so its masks and its attention may be
    looked up under different names. None if this thread has a door open.
    """
    with _lock:
        entry = _switched.get(id(configuration))
        here = threading.get_ident()
        if entry is not None and any(holder.thread == here for holder in list(entry.holders)):
            return None
        found = running_implementation(configuration)
        return None if found == str(NAME) else found


def _configurations(modules: Iterable[nn.Module]) -> list[Any]:
    found: dict[int, Any] = {}
    waiting = [getattr(module, "config", None) for module in modules]
    while waiting:
        configuration = waiting.pop()
        if id(configuration) in found or not hasattr(
            configuration, "_attn_implementation_internal"
        ):
            continue
        found[id(configuration)] = configuration
        for name in getattr(configuration, "sub_configs", None) or {}:
            waiting.append(getattr(configuration, name, None))
    return list(found.values())
