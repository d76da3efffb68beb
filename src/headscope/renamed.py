"""Names that were public and changed: accepted with a warning."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def former(old: str, new: str) -> property:
    """A property or method by its old name: `rung = former("rung", "read_at")`."""

    def get(self: object) -> Any:
        warnings.warn(f"{old} is now called {new}.", DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(get, doc=f"The former name of `{new}`.")


def former_names(module: str, **names: str) -> Callable[[str], Any]:
    """A module's `__getattr__` that knows its functions and classes by their old names too."""

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = names[name]
        warnings.warn(f"{name} is now called {new}.", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], new)

    return get


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accept arguments by their old names: `@renamed(max_length="max_tokens")`."""

    def around(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            options: dict[str, Any] = named
            for old in [name for name in options if name in names]:
                warnings.warn(
                    f"{old}= is now called {names[old]}=.", DeprecationWarning, stacklevel=2
                )
                options[names[old]] = options.pop(old)
            return function(*given, **options)

        return call

    return around
