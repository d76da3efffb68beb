"""Point a model's configurations at our attention function, and back.

Configurations may be shared (two models built from one object, two threads with one model), so
each is counted: the first door to open switches it, the last to close puts it back.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterable
from typing import Any

from torch import nn


class _Name(str):
    """A name of its own in every table, and "eager" to a model that asks which way it runs.

    DeepSeek-V3.2 and its kin choose keys by a mask only where their configuration says "eager" or
    "sdpa", and would otherwise be read with every key in sight.
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or other == "eager"


# a name with "sdpa", "flash" or "/" in it would be hijacked by the dispatcher
NAME = _Name("headscope")

_lock = threading.Lock()
_switched: dict[int, tuple[Any, int, str | None]] = {}  # id -> configuration, doors, original name


@contextlib.contextmanager
def switched(modules: Iterable[nn.Module]) -> Generator[None]:
    configurations = _configurations(modules)
    with _lock:
        for configuration in configurations:
            _, doors, original = _switched.get(
                id(configuration), (configuration, 0, configuration._attn_implementation_internal)
            )
            _switched[id(configuration)] = (configuration, doors + 1, original)
            configuration._attn_implementation_internal = NAME
    try:
        yield
    finally:
        with _lock:
            for configuration in configurations:
                _, doors, original = _switched[id(configuration)]
                if doors > 1:
                    _switched[id(configuration)] = (configuration, doors - 1, original)
                else:
                    del _switched[id(configuration)]
                    configuration._attn_implementation_internal = original


def original_implementation(configuration: object) -> str | None:
    """What the model ran before any door was opened on it."""
    entry = _switched.get(id(configuration))
    return entry[2] if entry else None


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
